import { messageOf } from '../../core/errors.ts';
import type { Field } from '../front-matter.ts';
import { keyOf } from '../keys.ts';
import { answerCheck } from '../output-schema.ts';
import type { Skill } from '../types.ts';
import type { Finding } from './problem.ts';

/** An `output-schema` that no answer could be held against, or that nothing asks for. */
export async function schemaFindings(skill: Skill, fields: readonly Field[]): Promise<Finding[]> {
  if (skill.outputSchema === undefined) return [];
  const line = fields.find(({ key }) => keyOf(key) === 'output-schema')?.line;
  const found: Finding[] = [];
  if (skill.runAs === 'inline') {
    const message = 'output-schema has no effect in an inline skill: only the answer of a sub-agent is checked';
    found.push({ severity: 'warning', code: 'schema-inline', line, message });
  }
  try {
    await answerCheck(skill.outputSchema);
  } catch (error) {
    found.push({ severity: 'error', code: 'schema-unusable', line, message: messageOf(error) });
  }
  return found;
}
