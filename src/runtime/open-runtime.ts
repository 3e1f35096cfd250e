import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { type LoadedConfig, loadConfig } from '../config/cascade.ts';
import { isSecretName } from '../config/mask.ts';
import { messageOf, ReasonixError } from '../core/errors.ts';
import { inProcessSlots } from '../engines/in-process.ts';
import type { Models } from '../models/contract.ts';
import { detectProvider } from '../models/detect.ts';
import { createModels, modelsOf } from '../models/models.ts';
import type { Observation, SessionHost } from '../session/host.ts';
import { LeaseKeeper } from '../session/lease-keeper.ts';
import { openLibrary } from '../skills/library.ts';
import { readableFolders } from '../skills/readable-folders.ts';
import type { SkillLibrary } from '../skills/types.ts';
import { recordUse } from '../skills/usage.ts';
import type { SessionStore } from '../store/contract.ts';
import { processOwner } from '../store/owner.ts';
import { Admission } from '../subagents/admission.ts';
import { Dispatcher } from '../subagents/dispatcher.ts';
import type { LiveSession } from '../subagents/live.ts';
import { SubagentRunner } from '../subagents/runner.ts';
import type { Tool } from '../tools/define-tool.ts';
import { memo } from '../tools/memo.ts';
import { workspaceTools } from '../tools/workspace-tools.ts';
import { configuredCompactor } from './compactor.ts';
import { fullResultLookup } from './full-result.ts';
import { rootLimits, setByConfig } from './limits.ts';
import { insertMiddleware, shippedMiddleware } from './middleware-order.ts';
import { chooseChildModel } from './model-choice.ts';
import { Observers } from './observers.ts';
import { openConfiguredStore } from './open-store.ts';
import type { RuntimeOptions } from './options.ts';
import { cacheFolder, installRoot, libraryOptions } from './places.ts';
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
  const models = options.models ?? (await configuredModels(options, loaded, env));
  const store = options.store ?? (await openConfiguredStore(loaded, onProblem));
  try {
    return new Runtime(await wire(options, loaded, { store, models, onProblem }));
  } catch (error) {
    if (!options.store) await store.close();
    throw error;
  }
}

interface Parts {
  store: SessionStore;
  models: Models;
  onProblem(text: string): void;
}

async function wire(options: RuntimeOptions, loaded: LoadedConfig, parts: Parts): Promise<Wiring> {
  const { config, folders } = loaded;
  const { store, models, onProblem } = parts;
  const live = new Map<string, LiveSession>();
  const observers = new Observers(
    (session) => live.get(session)?.session.started.parent?.session,
    (error) => onProblem(`an observer failed: ${messageOf(error)}`),
  );
  const libraries = new Map<string, Promise<SkillLibrary>>();
  const library = (cwd: string): Promise<SkillLibrary> => {
    const from = options.skillsFrom === undefined ? cwd : resolve(options.skillsFrom);
    const opened = libraries.get(from) ?? openLibrary(libraryOptions(config, folders, from));
    libraries.set(from, opened);
    return opened;
  };
  // Tools hold no state of a session: all sessions of a folder share them.
  const tools = memo((cwd: string): readonly Tool[] => {
    const web = config.tools.web_fetch;
    const builtIn = workspaceTools({
      cwd,
      home: folders.home,
      // Asked anew each time: a resumed session has not opened its library yet, and skills are installed meanwhile.
      readable: async () => readableFolders(await library(cwd)),
      allowWrite: config.sandbox.allow_write,
      forbidRead: config.sandbox.forbid_read,
      shell: { timeout: config.tools.shell_timeout / 1000 },
      web: { allowPrivate: web.allow_private, maxBytes: web.max_bytes, timeout: web.timeout },
    });
    const all = [...builtIn, ...(options.tools ?? [])];
    const { enabled } = config.tools;
    return enabled ? all.filter((tool) => enabled.includes(tool.name)) : all;
  });
  const required: Wiring['required'] = async (info) => requiredSet(config, folders, info, await library(info.cwd));
  const host: SessionHost & { chain: SessionHost['chain'] } = {
    store,
    leases: new LeaseKeeper(store, processOwner()),
    chain: [],
    resolveModel: (provider, model) => models.resolve(`${provider}/${model}`),
    observe: (observation: Observation) => observers.emit(observation),
  };
  const runner = new SubagentRunner({
    host,
    live,
    admission: new Admission(inProcessSlots(options.maxConcurrent ?? config.agent.max_concurrent)),
    tools,
    chooseModel: (skill, parent) => chooseChildModel(models, config.agent, skill, parent, onProblem),
    childSteps: { limit: config.agent.child_max_steps, setBy: setByConfig(loaded, 'agent.child_max_steps') },
  });
  const service = new Dispatcher({
    store,
    live,
    runner,
    library,
    installRoot: (scope, cwd) => installRoot(scope, cwd, folders.reasonixHome),
    recordUse: (skill, session) => recordUse(folders.reasonixHome, skill, session),
    installed: options.installed,
  });
  const { lazy, list, required: requiredConfig } = config.skills;
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
  const chain = shippedMiddleware({
    secrets: secretsOf(options.env ?? process.env),
    permissions: {
      ...config.permissions,
      allow: [...allow, ...(options.allow ?? [])],
      mode: options.yes ? 'allow' : config.permissions.mode,
      approve: options.approve,
    },
    compactor,
    lazy,
    listing: {
      service,
      library,
      listed: async (opened, setup) => listedSkills(config, folders, opened, (await required(setup)).names),
      style: list.style,
      maxBytes: list.max_bytes,
      cache: cacheFolder(folders.reasonixHome),
    },
    required: requiredConfig.enabled
      ? {
          required,
          render: async (name, cwd) => renderRequired(await library(cwd), name),
          policy: requiredConfig.policy,
          maxNudges: requiredConfig.max_nudges,
          force: requiredConfig.force,
          inSystemPrompt: requiredConfig.in_system_prompt,
        }
      : undefined,
    clipping: { limit: config.tools.output_limit, lookup: fullResultLookup(store) },
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
    library,
    required,
    recordUse: (skill, session) => recordUse(folders.reasonixHome, skill, session),
    subscribe: (session, listener) => observers.subscribe(session, listener),
    observe: (listener) => observers.observe(listener),
    close: async () => {
      if (!options.store) await store.close();
    },
  };
}

/** Values of variables that look like keys. A short one would be masked in ordinary text. */
function secretsOf(env: Readonly<Record<string, string | undefined>>): string[] {
  const values = Object.entries(env).flatMap(([name, value]) => (value && isSecretName(name) ? [value] : []));
  return values.filter((value) => value.length >= 8);
}

async function configuredModels(
  options: RuntimeOptions,
  { config, folders }: LoadedConfig,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Models> {
  if (options.model !== undefined && typeof options.model !== 'string')
    return modelsOf(options.model, { model: 'default', retry: { deadline: config.agent.request_timeout } });
  // Looking for a server takes time, so it waits until a model is wanted.
  let found: Promise<Models> | undefined;
  const find = async (): Promise<Models> => {
    const providers = config.providers.length > 0 ? config.providers : [await detectProvider(env)];
    const { request_timeout: deadline, fallback_models: fallbackModels, default_prices: defaultPrices } = config.agent;
    return createModels({
      providers,
      defaultModel: config.default_model,
      env,
      cwd: folders.cwd,
      retry: { deadline },
      fallbackModels,
      defaultPrices,
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
