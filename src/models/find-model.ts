import { ReasonixError } from '../core/errors.ts';
import type { ProviderSettings } from './contract.ts';
import { nearest } from './nearest.ts';

/** In `models`: any other name is accepted, too. A provider without a list accepts any. */
const ANY = '*';

/** A model, and the provider that serves it. */
export interface Located {
  settings: ProviderSettings;
  model: string;
}

/** `provider/model`, as the configuration and events name it. */
export const nameOf = ({ settings, model }: Located): string => `${settings.name}/${model}`;

type Found = Located | undefined;

/**
 * The model that a name means: `provider/model`, a model that is listed, or a provider; without a name the
 * first provider's first model. A name that nobody lists goes to the one provider that takes any.
 * @throws ReasonixError `config` without providers, `model_not_found` with the names most like it.
 */
export function findModel(name: string | undefined, providers: readonly ProviderSettings[]): Located {
  const [first] = providers;
  if (!first) {
    throw new ReasonixError('config', 'no provider is configured', {
      hint: 'fill in a [[providers]] entry in reasonix.toml (`reasonix init` writes one), or set the key of a vendor: docs/models.md',
    });
  }
  if (name === undefined) return { settings: first, model: firstModel(first) };
  const found = byQualifiedName(name, providers) ?? byModel(name, providers) ?? byProvider(name, providers);
  if (found) return found;
  const open = providers.filter(acceptsAny);
  if (open.length === 1 && open[0]) return { settings: open[0], model: name };
  throw notFound(name, providers);
}

/** `provider/model`; a model's own name may have slashes. */
function byQualifiedName(name: string, providers: readonly ProviderSettings[]): Found {
  for (const settings of providers) {
    if (!name.startsWith(`${settings.name}/`)) continue;
    const model = name.slice(settings.name.length + 1);
    if (model !== '' && (acceptsAny(settings) || settings.models.includes(model))) return { settings, model };
  }
  return undefined;
}

/** A model that a provider lists; without an exact match, the only one that differs in case alone. */
function byModel(name: string, providers: readonly ProviderSettings[]): Found {
  const all = providers.flatMap((settings) => listed(settings).map((model) => ({ settings, model })));
  const exact = all.find(({ model }) => model === name);
  if (exact) return exact;
  const alike = all.filter(({ model }) => model.toLowerCase() === name.toLowerCase());
  return alike.length === 1 ? alike[0] : undefined;
}

function byProvider(name: string, providers: readonly ProviderSettings[]): Found {
  const settings = providers.find((each) => each.name === name);
  return settings && { settings, model: firstModel(settings) };
}

const listed = (settings: ProviderSettings): string[] => settings.models.filter((model) => model !== ANY);

const acceptsAny = (settings: ProviderSettings): boolean =>
  settings.models.length === 0 || settings.models.includes(ANY);

function firstModel(settings: ProviderSettings): string {
  const [first] = listed(settings);
  if (first !== undefined) return first;
  if (settings.kind === 'scripted') return settings.name;
  throw new ReasonixError(
    'model_not_found',
    `the provider ${settings.name} lists no models, so that it has no first one`,
    {
      hint: `name one as ${settings.name}/MODEL, or list it in models`,
    },
  );
}

function notFound(name: string, providers: readonly ProviderSettings[]): ReasonixError {
  const names = providers.flatMap((settings) => listed(settings).map((model) => `${settings.name}/${model}`));
  const near = nearest(name, [...new Set(names)]);
  const hint =
    near.length > 0
      ? `did you mean ${near.join(' or ')}?`
      : `the providers are ${providers.map((settings) => settings.name).join(', ')}; name a model as PROVIDER/MODEL`;
  return new ReasonixError('model_not_found', `no model ${JSON.stringify(name)} is configured`, {
    hint,
    details: { near },
  });
}
