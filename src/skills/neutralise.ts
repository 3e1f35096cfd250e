import { oneLine, wellFormed } from '../core/text.ts';

/**
 * Signs that a reader does not see and a model does: zero-width and bidi signs, tag characters,
 * fillers, the variation selectors that no honest text uses. Joiners and emoji selectors are judged
 * by their neighbours, below.
 */
const INVISIBLE =
  /\u034f|[\u17b4\u17b5]|[\u180b-\u180f]|[\ufe00-\ufe0d]|[\u00ad\u061c\u115f\u1160\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{1d173}-\u{1d17a}]|[\u{e0000}-\u{e0fff}]/gu;

/** A joiner that joins nothing, or one of several in a row. */
const LOOSE_JOINER =
  /(?<![\p{L}\p{M}\p{N}\p{Emoji}])[\u200c\u200d]+|[\u200c\u200d]+(?![\p{L}\p{M}\p{N}\p{Emoji}])|[\u200c\u200d]{2,}/gu;
const LOOSE_SELECTOR = /(?<=^|\s|\ufe0e|\ufe0f)(?:\ufe0e|\ufe0f)+/gu;

/** What opens or closes something for a reader of markup, also when it never ends. */
const TAG = /<((?:\/ | ?\/ ?[\p{L}_]|[\p{L}_!?])[^<>]*)>/gu;
const TAG_START = /<(?=\/ | ?\/ ?[\p{L}_]|[\p{L}_!?])/gu;

const ASCII_ONLY = /^[\x20-\x7e]*$/;

/**
 * Text of a skill's author, or of a model, as one line that cannot open or close a wrapper and hides
 * nothing. Used at every place that shows such text to a model: catalog, search, errors, notices. The
 * signs `<` and `>` of a tag become `‹` and `›`; those of a comparison stay.
 */
export function neutralise(text: string): string {
  const visible = ASCII_ONLY.test(text) ? text : withoutInvisible(wellFormed(text));
  const line = oneLine(visible);
  return line.includes('<') ? line.replace(TAG, '‹$1›').replace(TAG_START, '‹') : line;
}

const withoutInvisible = (text: string): string =>
  text.replace(INVISIBLE, '').replace(LOOSE_JOINER, '').replace(LOOSE_SELECTOR, '');

const CONTROL =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\u{e0000}-\u{e007f}]/gu;

/**
 * Text for a terminal: control, bidi and tag characters are shown by name (`␛`, `\u{202e}`) and do
 * nothing. Line feeds and tabs stay, other line ends become line feeds.
 */
export function terminalSafe(text: string): string {
  return wellFormed(text)
    .replace(/\r\n/g, '\n')
    .replace(CONTROL, (sign) => {
      const code = sign.codePointAt(0) ?? 0;
      if (code < 0x20) return String.fromCodePoint(0x2400 + code);
      return code === 0x7f ? '␡' : `\\u{${code.toString(16)}}`;
    });
}
