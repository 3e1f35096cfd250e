/** Longest text that can be nothing but a reference, in UTF-16 units. */
const LONGEST = 300;

/** What points to an earlier message, by language. */
const REFERENCES = [
  // English
  /\b(?:see|as|stated|said|given|shown|provided|described|listed|outlined|mentioned|the|my|is|are|in|from|of)\b.*\babove\b/,
  /\babove\b.*\b(?:message|answer|report|summary|analysis|review|response|reply|findings|results?|is|are)\b/,
  /\b(?:previous|earlier|prior|preceding|last)\s+(?:message|answer|report|summary|response|reply|turn|output)\b/,
  /\balready\s+(?:been\s+)?(?:said|stated|given|provided|delivered|presented|reported|answered|described|shared)\b/,
  /\bas\s+(?:i\s+)?(?:previously|already|earlier)\b|\bas\s+i\s+(?:said|stated|mentioned|described|explained)\b/,
  // German
  /\b(?:siehe|wie|steht|von|bericht|antwort|analyse)\b.*\boben\b|\b(?:obige|obiger|obigen|obenstehend\p{L}*)\b/u,
  /\b(?:vorherig|vorig|letzt|früher)\p{L}*\s+(?:nachricht|antwort|bericht|ausgabe)\b/u,
  /\b(?:bereits|schon)\s+(?:gesagt|erwähnt|beschrieben|geliefert|genannt|dargelegt|beantwortet)\b/,
  // French
  /ci-dessus|\b(?:message|réponse|rapport)\s+(?:précédente?|antérieure?)\b|\bdéjà\s+(?:dit|donné|fourni|indiqué|mentionné|répondu)\b/u,
  // Spanish, Portuguese
  /\b(?:arriba|acima)\b|\b(?:mensaje|respuesta|informe|mensagem|resposta|relatório)\s+anterior\b|\b(?:anteriormente|previamente)\b/u,
  // Russian
  /(?:^|\s)(?:выше|вышеуказанн\p{L}*)(?![\p{L}])|предыдущ\p{L}*\s+(?:сообщени|ответ|отч)\p{L}*/u,
  // Chinese, Japanese
  /如上|见上|上文|上述|以上|如前|前述|之前的|上一条|前一条|前面的|上記|前述|先ほど|前の|以前の/,
];

/** Words that say nothing about the matter. A text with any other word has content of its own. */
const HOLLOW = new Set(
  `a all already an and answer answers analysis above add again any anything are as at be been before below both can check
  complete completed conclusion contains delivered described detail detailed details done earlier else entire everything
  explained final find findings finished for found from full fully further given has have here i i'm i've in is it it's
  its just last listed look message messages mentioned more my need nothing now of ok okay on output outlined please preceding
  presented previous previously prior provided refer reference repeat reply report reported response result results review
  said same see shared shown stand stands stated still summary task that that's the there these this those to turn
  unchanged was were what whole with work you your
  abgeschlossen als analyse antwort ausgabe bericht bereits beschrieben bitte da dargelegt das dem den der des die erledigt
  erwähnt es fertig früheren genannt gegeben geliefert gesagt habe hier ich im in ist letzte letzten mein meine meinen meiner
  meinem nachricht oben obige obigen obiger schon sehen sie siehe steht stehen vollständig vollständige vollständigen vom von
  vorherige vorherigen vorige vorigen wie wurde zu zur
  ai analyse ce ci comme complet complète dans de déjà dessus dit donné est et fait fourni il indiqué j'ai je la le les ma
  mentionné message mon plus précédent précédente rapport répondu réponse se tout travail trouve terminé un une voir voyez
  anterior anteriormente arriba completa completo como con consulte de el en es está estão informe indiqué la las lo los
  mencioné mensaje mi nada más previamente que resumen respuesta se terminado tarea vea ver véase ya
  acima a análise concluída concluído consulte conforme da do e já mensagem meu minha na o os relatório resposta veja
  в вам весь выше готов готово дал дан и как мой моем моём моё мое он ответ ответе отчет отчёт отчете отчёте полный
  предыдущем предыдущее предыдущий см смотрите сообщение сообщении указано уже я`.split(/\s+/),
);

/** The same where words stand without blanks between them; longer ones first. */
const HOLLOW_SIGNS =
  /参照してください|ご確認ください|ください|ありません|しました|でした|ました|述べた|記載|メッセージ|レポート|完了|回答|返信|報告|分析|結果|内容|参照|確認|通り|とおり|上記|前述|先ほど|以前|すべて|全て|既に|すでに|です|ます|の|を|に|は|で|が|と|も|前|如上所述|如前所述|请参见|请参阅|请查看|请看|参见|参阅|查看|见上文|上文|上述|以上|上面|前面|之前|上一条|前一条|消息|信息|回复|回答|报告|分析|总结|内容|结果|答案|完整|已经|全部|所有|提供|给出|说明|完成|任务|所述|就是|我|的|已|是|了|在|中|里|见|请|如|条/gu;

/** What a text about nothing does not hold: figures, code, paths, addresses. */
const SUBSTANCE = /[\p{N}`/\\{}<>=_@#$|]/u;

/**
 * Whether a text does no more than point to an earlier message: "See my report above." Takes a text for
 * one only when every word of it is hollow, so that an answer is never mistaken.
 */
export function onlyRefers(text: string): boolean {
  const plain = text.trim().toLowerCase().replaceAll('’', "'").normalize('NFC');
  if (plain.length > LONGEST || SUBSTANCE.test(plain)) return false;
  const flat = plain.replace(/\s+/g, ' ');
  if (!REFERENCES.some((reference) => reference.test(flat))) return false;
  const words = flat.replace(HOLLOW_SIGNS, ' ').match(/[\p{L}\p{M}']+/gu) ?? [];
  return words.every((word) => HOLLOW.has(word));
}
