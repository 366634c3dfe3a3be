/* Opens the tiers. Nothing is started before the first call, unless the gateway is long-lived. */
import { join } from 'node:path';
import { CEILINGS } from '@palisade/wasm';
import type { Channels } from '../channels/channels.ts';
import type { Config } from '../config/config.ts';
import { CONFIG_FILE } from '../config/environment.ts';
import { findPositions } from '../config/load.ts';
import type { Clock, Random } from '../core/clock.ts';
import type { ProcessTierName } from '../core/process.ts';
import type { TierName } from '../core/tool.ts';
import type { SecretGrant } from '../core/wasm.ts';
import { type Lookup, LookupTurns, systemLookup } from '../egress/resolve.ts';
import type { ForbiddenPlaces } from '../runner/forbidden.ts';
import { allowListOf, LiveHosts } from '../runner/host-lists.ts';
import { grantSecrets } from '../runner/secrets.ts';
import { settingsOf } from '../runner/settings.ts';
import { FileShelf } from '../store/file-shelf.ts';
import type { Presence } from '../store/presence.ts';
import type { Store } from '../store/store.ts';
import type { Vault } from '../vault/vault.ts';
import type { EnginePool } from './a-wasm/engine-pool.ts';
import { type CallIdentity, openWasm } from './a-wasm/index.ts';
import type { ReadyModules } from './a-wasm/modules.ts';
import { inspectEngines } from './a-wasm/probe.ts';
import { builtinTier } from './builtin/index.ts';
import { type NetworkOptions, type Networks, networksOf } from './network/networks.ts';
import { type Commands, openCommands } from './process/open.ts';
import { Scratches } from './process/scratch.ts';
import type { Launchers } from './process/tier.ts';
import type { Tier } from './tier.ts';
import { Recordings } from './undo/recordings.ts';
import { UndoRecords } from './undo/records.ts';
import { Undos } from './undo/undo.ts';
import type { LeftRun } from './workspace/left-runs.ts';

export type OpenTiersOptions = {
  readonly config: Config;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly version: string;
  readonly presence: Presence;
  readonly vault: Vault;
  readonly channels: Channels;
  readonly stateDir: string;
  readonly configPath?: string;
  readonly lookup?: Lookup;
  readonly trustedCertificates?: string;
  readonly isLasting?: boolean;
  /** The tier of the one command that is to come. */
  readonly expects?: ProcessTierName;
  readonly ports?: readonly number[];
  readonly launchers: Launchers;
  /** The possible paths of the engine, in order of preference. */
  readonly engineFiles: readonly string[];
  /** The state directory without links, which distinguishes our groups from those of others. */
  readonly realStateDir: string;
  readonly node: string;
  readonly forbidden: ForbiddenPlaces;
  /** Told what became of runs that killed gateways have left. */
  readonly onLeft: (run: LeftRun) => void;
};

export type OpenedTiers = {
  readonly tiers: Readonly<Partial<Record<TierName, Tier>>>;
  readonly engines: EnginePool;
  readonly ready: ReadyModules;
  readonly inspect: Commands['inspect'];
  /** Restores the workspaces of runs that killed gateways have left, and ends the records of their changes. */
  readonly restoreLeft: () => Promise<void>;
  /** What commands changed, and how it is undone. */
  readonly undos: Undos;
  readonly close: () => Promise<void>;
};

/** Some texts of one program, for as many versions of it as there will be. */
const SAID = { mostBytes: 256 * 1024, tag: String(process.pid) };

/** Node has four threads for lookups and files together; some are left for files. */
const LOOKUPS_AT_ONCE = 3;

export function openTiers(options: OpenTiersOptions): OpenedTiers {
  const { config, store, clock, random, version, presence, launchers, realStateDir, node } = options;
  const { isLasting = false, lookup = systemLookup, vault } = options;
  const turns = new LookupTurns(lookup, LOOKUPS_AT_ONCE);
  const { recordings, undos } = openUndo(options);
  const commands = openCommands({
    recordings: config.process.snapshots === 'on' ? recordings : null,
    clock,
    said: new FileShelf(join(options.stateDir, 'programs'), { ...SAID, nowMs: clock.nowMs }),
    launchers,
    firstUid: config.process.firstUid,
    owner: { realStateDir, process: presence.id },
    isGone: (process) => presence.isGone(process),
    floor: { tier: config.process.tierFloor, where: () => whereFloorIs(config) },
    limits: settingsOf(config, null).defaults,
    warm: isLasting ? config.process.warm : 0,
    networks: networksFor(options, turns),
    quarantine: join(options.stateDir, 'quarantine'),
    left: { folder: join(options.stateDir, 'running'), forbidden: options.forbidden, onLeft: options.onLeft },
  });
  // Not awaited: the programs of the machine answer while the rest of the gateway is opened.
  if (options.expects !== undefined) commands.tiers[options.expects].look().catch(() => undefined);
  // Not awaited: what cannot be ended now is tried again at the next start.
  commands.sweep().catch(() => undefined);
  const scratches = openScratches(options);
  const wasm = openWasm({
    scratches,
    clock,
    random,
    store,
    commands,
    newLookup: () => turns.forRun(),
    node,
    engines: options.engineFiles,
    formsDir: join(options.stateDir, 'modules'),
    limits: config.wasm,
    // A recording of another gateway may have had more than a call has here.
    memoryBytes: Math.min(config.ceilings.memoryBytes, CEILINGS.memoryBytes),
    secret: (granted, who) => secretOf(vault, granted, who),
    operatorSecrets: grantSecrets(config.secrets),
    trustedCertificates: options.trustedCertificates ?? '',
    ports: options.ports ?? [],
    channels: options.channels,
  });
  if (isLasting) wasm.pool.warm().catch(() => undefined);
  const close = async () => {
    await wasm.close();
    await commands.close();
    recordings.sweepIfDue();
  };
  const tiers = { builtin: builtinTier(clock, version), a: wasm.tier, ...commands.tiers };
  const inspect = async () => [...(await commands.inspect()), await inspectEngines(wasm.pool)];
  const restoreLeft = async () => {
    await commands.restoreLeft();
    await recordings.settle();
  };
  return { tiers, engines: wasm.pool, ready: wasm.ready, inspect, restoreLeft, undos, close };
}

function openScratches({ realStateDir, presence }: OpenTiersOptions): Scratches {
  const scratches = new Scratches({
    owner: { realStateDir, process: presence.id },
    isGone: (process) => presence.isGone(process),
  });
  scratches.sweep();
  return scratches;
}

/** What is recorded is undone also where nothing more is recorded. */
function openUndo({ config, clock, presence, stateDir, forbidden }: OpenTiersOptions) {
  const records = new UndoRecords(join(stateDir, 'undo'), presence.id);
  const isGone = (process: string) => presence.isGone(process);
  const recordings = new Recordings({ records, clock, settings: config.process, isGone, forbidden });
  return { recordings, undos: new Undos(records, recordings, clock.nowMs) };
}

/** The value of a secret for a call, with its use recorded; null where the call has none of that name. */
async function secretOf(
  vault: Vault,
  { name, scope }: Pick<SecretGrant, 'name' | 'scope'>,
  identity: Omit<CallIdentity, 'skill' | 'isAlone'> & { readonly skill: string | null },
): Promise<string | null> {
  const { call, tool, ...asker } = identity;
  const found = vault.find(name, { ...asker, only: scope });
  return found === null ? null : Buffer.from(await vault.reveal(found, { call, tool })).toString('utf8');
}

/** Where the configuration sets the floor, for a message about it. */
async function whereFloorIs({ file }: Config): Promise<string> {
  if (file === null) return CONFIG_FILE;
  const at = (await findPositions(file.text))(['process', 'tier_floor'], 'value');
  return at === undefined ? file.name : `${file.name}:${at.line}:${at.column}`;
}

function networksFor(options: OpenTiersOptions, turns: LookupTurns): Networks {
  const { config, stateDir, configPath: path = join(stateDir, CONFIG_FILE), clock, random } = options;
  const { trustedCertificates = '', vault } = options;
  const list = allowListOf(config.process.egressHosts);
  const hosts = new LiveHosts({ path, text: config.file?.text ?? null, list });
  const vaultSecret: NetworkOptions['vaultSecret'] = (name, { id, ...rest }) =>
    secretOf(vault, { name }, { ...rest, call: id, skill: null });
  return networksOf({
    config,
    hosts,
    newLookup: () => turns.forRun(),
    trustedCertificates,
    clock,
    random,
    vaultSecret,
    ports: options.ports ?? [],
  });
}
