import type { Document, Node } from 'yaml';
import { type Fault, type Field, loadYaml, readStrictYaml, type Yaml } from '../front-matter.ts';

export type StrictHeader = { fields: readonly Field[] } | { fault: Fault } | 'no-mapping';

/**
 * Reads a header as the validator of the specification does: YAML in which every scalar is text, and
 * flow collections, anchors, aliases, tags and doubled keys are errors. Lines count from 1 in the header.
 */
export async function readStrictHeader(header: string): Promise<StrictHeader> {
  const library = await loadYaml();
  const { fields, fault } = readStrictYaml(library, header);
  if (fault !== undefined) return { fault };
  const refused = refusedStyle(library, header);
  if (refused !== undefined) return { fault: refused };
  return fields === undefined || fields.length === 0 ? 'no-mapping' : { fields };
}

function refusedStyle(library: Yaml, header: string): Fault | undefined {
  const document = library.parseDocument(header, { schema: 'failsafe', logLevel: 'error', prettyErrors: false });
  let fault: Fault | undefined;
  const texts: (readonly [number, number, number])[] = [];
  const faultAt = (offset: number, reason: string): Fault => ({
    line: header.slice(0, offset).split('\n').length,
    reason,
  });
  const refuse = (node: Node, reason: string): symbol => {
    fault = faultAt(node.range?.[0] ?? 0, reason);
    return library.visit.BREAK;
  };
  library.visit(document as Document, {
    Alias: (_, node) => refuse(node, 'found a disallowed alias'),
    Node: (_, node) => {
      if ('anchor' in node && node.anchor !== undefined) return refuse(node, 'found a disallowed anchor');
      if (node.tag !== undefined) return refuse(node, 'found a disallowed tag');
      if (library.isCollection(node) && node.flow === true) {
        return refuse(node, 'found a disallowed flow collection: put quotes around text with brackets');
      }
      if (library.isScalar(node) && node.type === 'PLAIN' && String(node.source).includes('\t')) {
        return refuse(node, "found a tab in a plain value: character '\\t' cannot start any token");
      }
      if (library.isScalar(node) && node.type !== 'PLAIN' && node.range) texts.push(node.range);
      if (library.isMap(node)) {
        const uneven = unevenMapping(library, header, node.items);
        if (uneven !== undefined) return refuse(uneven, 'found a mapping with inconsistent indentation');
      }
      return undefined;
    },
  });
  if (fault !== undefined) return fault;
  for (const { index } of header.matchAll(/^ *\t[ \t]*$/gm)) {
    const inText = texts.some(([start, , end]) => index > start && index < end);
    if (!inText) return faultAt(index, "found a line of blanks with a tab: character '\\t' cannot start any token");
  }
  return undefined;
}

/** Mappings of one mapping must be indented alike. */
function unevenMapping(library: Yaml, header: string, pairs: readonly { value: unknown }[]): Node | undefined {
  let first: number | undefined;
  for (const { value } of pairs) {
    if (!library.isMap(value) || !value.range) continue;
    const column = value.range[0] - (header.lastIndexOf('\n', value.range[0] - 1) + 1);
    first ??= column;
    if (column !== first) return value;
  }
  return undefined;
}
