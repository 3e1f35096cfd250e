import { expect, test } from 'vitest';
import { allows, denies, narrowTools, parseToolRules } from '../../src/core/tool-rules.ts';
import { mcpToolName } from '../../src/tools/mcp/tools.ts';

const LONG = 'a'.repeat(70);

const covers = (rule: string, name: string): boolean => {
  const { rules } = parseToolRules([rule]);
  const answers = [
    denies(rules, name, ''),
    allows(rules, name, ''),
    narrowTools([name], undefined, rules).length === 0,
  ];
  expect(new Set(answers).size).toBe(1);
  return answers[0] ?? false;
};

test.each([
  ['mcp__docs__file.delete', 'docs', 'file.delete'],
  ['mcp__docs__file.*', 'docs', 'file.delete'],
  ['mcp__docs__*_delete', 'docs', `${LONG}_delete`],
  [`mcp__docs__${LONG}`, 'docs', LONG],
  [`mcp__${LONG}__*`, LONG, 'delete'],
  [`mcp__${LONG}`, LONG, 'delete'],
  ['mcp__日本__*', '日本', 'delete'],
  ['mcp__日本__削除', '日本', '削除'],
  ['mcp__my_server__*', 'my server', 'delete'],
  ['mcp__a_b__*', 'a__b', 'delete'],
  ['mcp__a_b', 'a__b', 'delete'],
])('a rule %s holds for a tool whose name had to be changed', (rule, server, tool) => {
  const name = mcpToolName(server, tool);
  expect(name).toMatch(/^[\w-]{1,64}$/);
  expect(covers(rule, name)).toBe(true);
});

test.each([
  ['mcp__a', 'a__b', 'delete'],
  ['mcp__a__*', 'a__b', 'delete'],
  ['mcp__a__*', 'a.', 'delete'],
  ['mcp__a__*', 'a_', 'delete'],
  ['mcp__docs__file.read', 'docs', 'file.delete'],
  ['mcp__日本__*', '本日', 'delete'],
])('a rule %s is none for another server or tool', (rule, server, tool) => {
  expect(covers(rule, mcpToolName(server, tool))).toBe(false);
});
