import type { ToolImage } from '../core/messages.ts';
import { prompt } from '../core/prompts.ts';

/**
 * Names of models that take pictures, with or without a vendor before them: by the vendors' model pages
 * as of November 2026. A model that is not among them gets a note in place of a picture, unless
 * `images = true` says otherwise.
 */
const VISION: readonly RegExp[] = [
  // https://platform.openai.com/docs/models
  /^(?:gpt-4o|gpt-4\.1|gpt-4\.5|gpt-4-turbo|gpt-5|chatgpt-4o|o1(?!-mini)|o3(?!-mini)|o4)/,
  // https://platform.claude.com/docs/en/build-with-claude/vision
  /^claude-(?!2|instant)/,
  // https://ai.google.dev/gemini-api/docs/models
  /^(?:gemini-[2-9]|gemini-1\.5|gemma-?[34])/,
  // https://docs.mistral.ai/capabilities/vision
  /^(?:pixtral|mistral-medium|mistral-small-(?:latest|25|26))/,
  // https://api-docs.deepseek.com/quick_start/pricing
  /^deepseek-flash/,
  // https://platform.moonshot.ai/docs/guide/use-kimi-vision-model
  /^(?:kimi-k2\.[5-9]|kimi-k[3-9])/,
  // Open weights, as their makers and Ollama name them.
  /^(?:llava|llama-?4|llama-?3\.2-(?:11b|90b)?-?vision|qwen[\d.]*-?vl|minicpm-v|internvl)/,
  /vision/,
];

export function seesImages(model: string): boolean {
  const name = model.toLowerCase().replace(/^.*\//, '');
  return VISION.some((names) => names.test(name));
}

export const dataUrl = ({ mediaType, data }: ToolImage): string => `data:${mediaType};base64,${data}`;

/** The text of a result whose pictures are not sent. */
export function withImageNote(content: string, images: readonly ToolImage[]): string {
  const note = prompt('images-not-shown', { count: images.length });
  return content === '' ? note : `${content}\n${note}`;
}
