import { describe, expect, it } from 'vitest';
import { onlyRefers } from '../../src/middleware/only-refers.ts';
import { processorTime } from '../helpers/processor-time.ts';

describe('a text that only points to an earlier message', () => {
  it.each([
    'As I said above.',
    'See above.',
    '(see above)',
    'See my previous message.',
    'The report above is complete.',
    'I have already provided the full report in my previous message.',
    'Done. The full analysis is in my earlier response above.',
    "I've already given the answer above; nothing more to add.",
    'The findings were already reported.',
    'Please refer to my last reply for the details.',
    'My complete review is stated above.\n\nTask completed.',
    'Siehe oben.',
    'Wie bereits erwähnt.',
    'Der vollständige Bericht steht in meiner vorherigen Nachricht.',
    'Voir ci-dessus.',
    'La réponse complète est dans mon message précédent.',
    'Véase arriba.',
    'La respuesta está en mi mensaje anterior.',
    'A resposta está na minha mensagem anterior.',
    'См. выше.',
    'Полный отчёт уже дан в предыдущем сообщении.',
    '如上所述。',
    '请参阅我之前的回复。',
    '完整报告见上文。',
    '上記の通りです。',
    '前のメッセージを参照してください。',
  ])('%s', (text) => expect(onlyRefers(text)).toBe(true));
});

describe('a text with an answer in it', () => {
  it.each([
    '',
    'Done.',
    'The report is complete.',
    'No.',
    'No, as I said above.',
    'As I said above, the pool is too small.',
    'As mentioned above, the cause is pool.size=4.',
    'The report is in out/report.md, as stated above.',
    'The line above 40 is dead code.',
    'See above: 42.',
    'Everything above the fold loads late.',
    'Keep the previous message format, since old clients read it.',
    'The last message in the queue is never acknowledged.',
    'Siehe oben: der Pool ist zu klein.',
    'Wie bereits erwähnt, fehlt ein Index.',
    "Comme indiqué ci-dessus, l'index manque.",
    'Como mencioné anteriormente, falta un índice.',
    'Как указано выше, нет индекса.',
    '如上所述,原因是缺少索引。',
    '上記の通り、索引がありません。',
    '以上。原因是缺少索引。',
    `${'See above. '.repeat(40)}`,
  ])('%s', (text) => expect(onlyRefers(text)).toBe(false));

  it('is judged at once, whatever its length', () => {
    const start = processorTime();
    for (const text of ['above '.repeat(100_000), 'as '.repeat(99), 'the '.repeat(74), 'x'.repeat(300)])
      onlyRefers(text);
    expect(processorTime() - start).toBeLessThan(500);
  });
});
