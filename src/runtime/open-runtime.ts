import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { type LoadedConfig, loadConfig } from '../config/cascade.ts';
import { isSecretName } from '../config/mask.ts';
import { refusedProviders } from '../config/trust.ts';
import { messageOf, ReasonixError } from '../core/errors.ts';
import type { EventOf } from '../core/events.ts';
import { narrowTools, parseToolRules } from '../core/tool-rules.ts';
import { inProcessSlots } from '../engines/in-process-slots.ts';
import { catalogFor, type SkillListing } from '../middleware/skill-catalog.ts';
import type { Models } from '../models/contract.ts';
import { detectProvider } from '../models/detect.ts';
import { createModels, modelsOf } from '../models/models.ts';
import type { RateLimit } from '../models/rate-limit.ts';
import { maskKeys } from '../models/secrets.ts';
import type { Observation, SessionHost } from '../session/host.ts';
import { LeaseKeeper } from '../session/lease-keeper.ts';
import { recordUse } from '../skills/usage.ts';
import type { SessionStore } from '../store/contract.ts';
import { processOwner } from '../store/owner.ts';
import { Admission } from '../subagents/admission.ts';
import { type BackgroundOptions, backgroundHost } from '../subagents/background-host.ts';
import { BackgroundTools } from '../subagents/background-tools.ts';
import { Dispatcher } from '../subagents/dispatcher.ts';
import type { Elsewhere } from '../subagents/elsewhere.ts';
import { clippedAnswer } from '../subagents/fair-share.ts';
import { Isolation } from '../subagents/isolation.ts';
import { type LiveSession, skillPath } from '../subagents/live.ts';
import { scratchFolder } from '../subagents/own-folders.ts';
import { boundedTexts } from '../subagents/result-text.ts';
import { SubagentRunner } from '../subagents/runner.ts';
import { configuredCompactor } from './compactor.ts';
import { folderTools, keyVariables } from './folder-tools.ts';
import { fullResultLookup } from './full-result.ts';
import { Libraries } from './libraries.ts';
import { rootLimits, setByConfig } from './limits.ts';
import { insertMiddleware, shippedMiddleware } from './middleware-order.ts';
import { chooseChildModel } from './model-choice.ts';
import { Observers } from './observers.ts';
import { type EngineAccess, engineAccess } from './open-engine.ts';
import { openConfiguredStore } from './open-store.ts';
import type { RuntimeOptions } from './options.ts';
import { isTrusted, outsideCommands } from './outside-commands.ts';
import { cacheFolder, installRoot } from './places.ts';
import { listedSkills, renderRequired, requiredSet } from './required-set.ts';
import { ruleProblems } from './rule-problems.ts';
import { Runtime, type Wiring } from './runtime.ts';

/**
 * Opens a runtime: reads the configuration, opens the store, and wires engine, skills, tools and
 * middleware. Close it when done; an open one keeps no process alive.
 * @throws ReasonixError `config` for a configuration that does not hold, `store` when the store cannot be opened.
 * @example
 * const runtime = await openRuntime({ cwd: '/my/project' });
 * const { answer } = await runtime.skill('explore').run('Where are dates parsed?');
 * await runtime.close();
 */
export async function openRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const onProblem = options.onProblem ?? ((text: string) => process.emitWarning(text, 'ReasonixWarning'));
  const env = options.env ?? process.env;
  const loaded = await loadConfig({
    cwd: options.cwd ?? process.cwd(),
    home: options.home ?? homedir(),
    reasonixHome: options.reasonixHome,
    env,
    overrides: options.overrides,
    configFile: options.configFile,
    profile: options.profile,
  });
  const engine = engineAccess(loaded, options, onProblem);
  const models = options.models ?? (await configuredModels(options, loaded, env, engine?.rateLimit));
  const store = options.store ?? (await openConfiguredStore(loaded, onProblem, isTrusted(options)));
  try {
    return new Runtime(await wire(options, loaded, { store, models, engine, onProblem }));
  } catch (error) {
    if (!options.store) await store.close();
    throw error;
  }
}

interface Parts {
  store: SessionStore;
  models: Models;
  engine: EngineAccess | undefined;
  onProblem(text: string): void;
}

async function wire(options: RuntimeOptions, loaded: LoadedConfig, parts: Parts): Promise<Wiring> {
  const { config, folders } = loaded;
  const { store, models, engine, onProblem } = parts;
  const live = new Map<string, LiveSession>();
  const watched = new Map<string, EventOf<'session.started'>>();
  const identify: Wiring['identify'] = (session) => live.get(session)?.session.started ?? watched.get(session);
  const observers = new Observers(
    (session) => identify(session)?.parent?.session,
    (error) => onProblem(`an observer failed: ${messageOf(error)}`),
  );
  const libraries = new Libraries({ config, folders, store, skillsFrom: options.skillsFrom, onProblem });
  const library: Wiring['library'] = (place) => libraries.of(place);
  const leases = new LeaseKeeper(store, processOwner(), engine ? config.engine.lease : undefined);
  const { reasonixHome } = folders;
  const isolation = new Isolation({ store, leases, reasonixHome, closed: (cwd) => libraries.forget(cwd) });
  const tools = folderTools({ config, folders, isolation, library, more: options.tools ?? [] });
  const required: Wiring['required'] = async (info) => requiredSet(config, folders, info, await library(info));
  const refused = parseToolRules(config.permissions.deny).rules;
  const host: SessionHost & { chain: SessionHost['chain'] } = {
    store,
    leases,
    chain: [],
    resolveModel: (provider, model) => models.resolve(`${provider}/${model}`),
    observe: (observation: Observation) => observers.emit(observation),
    place: ({ cwd, tag }) => (engine && tag === undefined ? (config.engine.workspace ?? cwd) : cwd),
    scratch: ({ kind, session }) => (kind === 'child' ? scratchFolder(reasonixHome, session) : undefined),
    isOffered: (tool) => narrowTools([tool], undefined, refused).length > 0,
  };
  const admission = new Admission(inProcessSlots(options.maxConcurrent ?? config.agent.max_concurrent));
  const secrets = secretsOf(options.env ?? process.env, keyVariables(config));
  const elsewhere: Elsewhere | undefined = engine && {
    start: async (child) => (await engine.get()).start(child),
    cancel: async (child, cancel) => (await engine.get()).cancel(child, cancel),
  };
  const runner = new SubagentRunner({
    host,
    live,
    admission,
    elsewhere,
    tools,
    isolation,
    hasNotice: config.agent.child_notice,
    chooseModel: (skill, parent) => chooseChildModel(models, config.agent, skill, parent, onProblem),
    childSteps: { limit: config.agent.child_max_steps, setBy: setByConfig(loaded, 'agent.child_max_steps') },
  });
  // A result that does not come as the result of a call passes neither redaction nor clipping.
  const texts: BackgroundOptions['texts'] = (results) =>
    boundedTexts(results, config.tools.output_limit).map((text) => maskKeys(text, secrets));
  const atEnd = config.agent.background_at_end;
  Object.assign(host, { background: backgroundHost({ host, live, runner, admission, elsewhere, atEnd, texts }) });
  const service = new Dispatcher({
    store,
    live,
    runner,
    isolation,
    library,
    installRoot: (scope, cwd) => installRoot(scope, cwd, folders.reasonixHome),
    recordUse: (skill, session) => recordUse(folders.reasonixHome, skill, session),
    installed: options.installed,
    background: config.agent.background,
    outputLimit: config.tools.output_limit,
    backgroundTools: new BackgroundTools({ store, texts }),
  });
  const { lazy, list, required: requiredConfig } = config.skills;
  const outside = outsideCommands({ options, loaded, onProblem });
  if (outside.hooks) observers.observe(outside.hooks.observe);
  const { allow, ask, deny } = config.permissions;
  const rules = {
    'permissions.allow': allow,
    'permissions.ask': ask,
    'permissions.deny': deny,
    'the allowed rules of this run': options.allow ?? [],
  };
  const ownTools = (options.tools ?? []).map((tool) => tool.name);
  for (const problem of ruleProblems(rules, ownTools)) onProblem(problem);
  const compactor = configuredCompactor(config.agent, { models, store, onProblem });
  const listing: SkillListing = {
    service,
    library,
    listed: async (opened, info) => listedSkills(config, folders, opened, (await required(info)).names),
    style: list.style,
    background: config.agent.background,
    maxBytes: list.max_bytes,
    cache: cacheFolder(folders.reasonixHome),
  };
  const fullText = fullResultLookup(store, isolation);
  const chain = shippedMiddleware({
    secrets,
    mcp: outside.mcp,
    hooks: outside.hooks?.middleware,
    permissions: {
      ...config.permissions,
      allow: [...allow, ...(options.allow ?? [])],
      mode: options.yes ? 'allow' : config.permissions.mode,
      approve: options.approve,
      pathOf: (session) => skillPath(live, session),
    },
    compactor,
    lazy,
    listing,
    required: requiredConfig.enabled
      ? {
          required,
          render: async (name, info) => renderRequired(await library(info), name),
          policy: requiredConfig.policy,
          maxNudges: requiredConfig.max_nudges,
          force: requiredConfig.force,
          inSystemPrompt: requiredConfig.in_system_prompt,
        }
      : undefined,
    clipping: { limit: config.tools.output_limit, lookup: fullText },
  });
  const withUsers = (options.middleware ?? []).reduce(
    (sofar, entry) =>
      'middleware' in entry ? insertMiddleware(sofar, entry.middleware, entry) : insertMiddleware(sofar, entry),
    chain,
  );
  return {
    config,
    cwd: folders.cwd,
    store,
    models,
    live,
    host: Object.assign(host, { chain: withUsers }),
    compactor,
    limits: rootLimits(loaded, options),
    model: typeof options.model === 'string' ? options.model : undefined,
    systemPrompt: await systemPromptOf(config.agent.system_prompt_file),
    tools,
    isolation,
    library,
    libraryNow: (place) => libraries.now(place),
    // A session that others run brings its skills: they may have none of them, or others.
    pack: (options.packSkills ?? engine !== undefined) ? (cwd) => libraries.pack(cwd) : undefined,
    required,
    recordUse: (skill, session) => recordUse(folders.reasonixHome, skill, session),
    catalog: async (info) => catalogFor(info, await library(info), listing, lazy),
    search: (input, context) => service.search(input, context),
    fullText,
    shown: (answer, reference) => maskKeys(clippedAnswer(answer, config.tools.output_limit, reference), secrets),
    subscribe: (session, listener) => observers.subscribe(session, listener),
    observe: (listener) => observers.observe(listener),
    mcpStatus: () => outside.mcp?.servers.status() ?? [],
    engine,
    allowed: { allow: options.allow && [...options.allow], yes: options.yes },
    identify,
    left: (session) => outside.hooks?.leave(session),
    met: (started) => void watched.set(started.session, started),
    onProblem,
    close: async () => {
      await engine?.close();
      await outside.close();
      if (!options.store) await store.close();
    },
  };
}

/** Values of variables that look like keys. A short one would be masked in ordinary text. */
function secretsOf(env: Readonly<Record<string, string | undefined>>, keys: readonly string[]): string[] {
  const isSecret = (name: string): boolean => keys.includes(name) || isSecretName(name);
  const values = Object.entries(env).flatMap(([name, value]) => (value && isSecret(name) ? [value] : []));
  return values.filter((value) => value.length >= 8);
}

async function configuredModels(
  options: RuntimeOptions,
  loaded: LoadedConfig,
  env: Readonly<Record<string, string | undefined>>,
  rateLimit: RateLimit | undefined,
): Promise<Models> {
  const { config, folders } = loaded;
  if (options.model !== undefined && typeof options.model !== 'string')
    return modelsOf(options.model, { model: 'default', retry: { deadline: config.agent.request_timeout } });
  // Looking for a server takes time, so it waits until a model is wanted.
  let found: Promise<Models> | undefined;
  const find = async (): Promise<Models> => {
    const providers = config.providers.length > 0 ? config.providers : [await detectProvider(env)];
    const { request_timeout: deadline, fallback_models: fallbackModels, default_prices: defaultPrices } = config.agent;
    return createModels({
      providers,
      refused: refusedProviders(loaded, isTrusted(options)),
      defaultModel: config.default_model,
      env,
      cwd: folders.cwd,
      retry: { deadline },
      fallbackModels,
      defaultPrices,
      rateLimit,
    });
  };
  return {
    resolve: async (name) => {
      found ??= find();
      return (await found).resolve(name);
    },
  };
}

async function systemPromptOf(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new ReasonixError('config', `agent.system_prompt_file ${file} cannot be read: ${messageOf(error)}`, {
      hint: 'correct the path, or leave the key out',
      cause: error,
    });
  }
}
