/**
 * A sandbox is everything that exists before the command starts: the group, the namespaces where the tier has them, and
 * a launcher in it that waits for the command. So a warm sandbox can be ready for a command that is not requested yet.
 * The caller who opens one uses it once, or closes it.
 */
import { lstatSync, readFileSync, statSync } from 'node:fs';
import type { Server } from 'node:net';
import { CodedError } from '../../core/coded-error.ts';
import type { Refused } from '../../core/outcome.ts';
import { isWithin, parseMounts } from '../../core/paths.ts';
import type { ProcessTerms } from '../../core/process.ts';
import { orElse } from '../../core/result.ts';
import type { RunGroup } from '../cgroup/run-group.ts';
import {
  type ChildEnd,
  type ChildTerms,
  type ChildWatch,
  type Descriptor,
  endsOf,
  type LiveChild,
} from '../child/child.ts';
import { attendChild, type StartChild, unstarted } from '../child/run-child.ts';
import { wordsBytes } from '../child/starter-protocol.ts';
import { lastWordIn } from '../child/status.ts';
import type { NetworkPass, NetworkPlan } from '../network/plan.ts';
import type { HeldWorkspace } from '../workspace/held-directory.ts';
import { openDescriptors } from './descriptors.ts';
import { type CommandPlan, type CommandTier, unenforceable } from './plan.ts';

/** What is needed to make sandboxes. */
export type SandboxKit = {
  readonly start: StartChild;
  readonly launcher: string;
  /** A group for a run, or null where this machine supports none. */
  readonly makeGroup: (id: string, terms: ProcessTerms) => RunGroup | null;
  /** The user of runs where the gateway is root; null where it is not. */
  readonly runAs: { readonly uid: number; readonly gid: number } | null;
};

/** Serves the listeners of a run, once they exist. */
export type Serve = (plan: NetworkPlan, servers: readonly Server[]) => Promise<void>;

export type Sandbox = {
  readonly child: LiveChild | { readonly error: string };
  readonly group: RunGroup | null;
  readonly cgroups: number;
  /** For a warm sandbox: all that defines it except the command. A plan with the same identity has the same sandbox. */
  readonly identity: string;
  readonly descriptors: ChildTerms['descriptors'];
  readonly wordsIndex: number;
  /** Ends what is in it and releases everything; also after its run. */
  readonly close: () => Promise<void>;
};

/** A sandbox for the command with its plan, and whether it was warm. */
export type Ready = {
  readonly sandbox: Sandbox;
  readonly plan: CommandPlan;
  readonly isWarm: boolean;
  /** Makes another one for the next call, where sandboxes are kept warm. */
  readonly refill?: () => void;
};

/** What a sandbox is made for. */
export type Wish = {
  readonly id: string;
  readonly terms: ProcessTerms;
  readonly held: HeldWorkspace;
  readonly pass: NetworkPass;
  readonly isSpare?: true;
  readonly hasStreams?: boolean;
};

/** The plan of a command with these values; throws when it is refused. */
export function demandPlan(
  tier: CommandTier,
  { terms, held, pass, hasStreams = false }: Omit<Wish, 'id'>,
  { runAs, cgroups, group }: Pick<SandboxKit, 'runAs'> & Pick<Sandbox, 'cgroups' | 'group'>,
): CommandPlan {
  const asRoot = runAs === null ? null : { ...runAs, owner: held.owner };
  const countsCpu = group?.countsCpu === true;
  const plan = tier.plan(terms, { cgroups, countsCpu, asRoot, pass, hasStreams });
  if (!plan.ok) throw refusal(plan.problem);
  return plan.value;
}

function refusal({ code, message, remedy }: Refused): CodedError {
  return new CodedError(code, message, { remedy });
}

/** Makes a sandbox. Nothing of it is left when this throws. */
export async function openSandbox(kit: SandboxKit, tier: CommandTier, wish: Wish): Promise<Ready> {
  const mounts = readMounts();
  const unfit = checkMounts(tier, kit, wish.terms.workspace, mounts);
  if (unfit !== null) throw refusal(unfit);
  const group = kit.makeGroup(wish.id, wish.terms);
  const removeGroup = async () => group?.remove().catch(() => undefined);
  try {
    const cgroupFds = group?.descriptors ?? [];
    const plan = demandPlan(tier, wish, { runAs: kit.runAs, cgroups: cgroupFds.length, group });
    // Taken before it is made: after a change in the meantime it matches no later plan.
    const identity = wish.isSpare === true ? identityOf(plan, wish, mounts) : '';
    const sources = { args: plan.args, workspaceFd: wish.held.fd, launcher: kit.launcher, cgroupFds };
    const open = openDescriptors(plan.descriptors, sources);
    const { descriptors, wordsIndex } = open;
    const started = await kit
      .start(kit.launcher, { words: plan.words, ...childTerms(wish.terms, descriptors) })
      .finally(open.close);
    const child = typeof started === 'string' ? { error: started } : started;
    const close = async () => {
      giveUp(child);
      await removeGroup();
    };
    const cgroups = cgroupFds.length;
    const sandbox = { child, group, cgroups, identity, descriptors, wordsIndex, close };
    return { sandbox, plan, isWarm: false };
  } catch (error) {
    await removeGroup();
    throw error;
  }
}

type SandboxRun = {
  readonly plan: CommandPlan;
  readonly terms: ProcessTerms;
  readonly serve: Serve;
  readonly onStatus?: (said: Uint8Array) => void;
};

/** Starts the command of the plan in its sandbox, and supervises it to its end. */
export function runInSandbox(
  { child, descriptors, wordsIndex }: Sandbox,
  { plan, terms, serve, onStatus }: SandboxRun,
  watch: ChildWatch,
): Promise<ChildEnd> {
  const attended = childTerms(terms, descriptors);
  if ('error' in child) return Promise.resolve(unstarted(attended, { spawnError: child.error }));
  const lastWord: ChildWatch['lastWord'] = (_, said) => {
    onStatus?.(said.bytes());
    return lastWordIn(said);
  };
  const ended = attendChild(child, attended, { ...watch, lastWord });
  const begin = () => child.ends[wordsIndex]?.end(wordsBytes([...plan.gate, ...plan.told]));
  const { network } = plan;
  if (network === null) begin();
  else
    child.servers
      .then(async (servers) => {
        // Boundary: without its listeners the command does not start; the launcher has failed, or was ended.
        if (servers === null) return;
        await serve(network, servers);
        begin();
      })
      // Otherwise it would go unnoticed that it never started.
      .catch(() => child.kill());
  return ended;
}

/** The launcher's report: it has the only descriptor that is read. */
export function statusOf({ read }: ChildEnd): Uint8Array {
  return read[0] ?? new Uint8Array(0);
}

/** The launcher enforces the limits itself; ours back it up, a little later. */
const BEHIND_MS = 2_000;
const GRACE_MS = 500;
/** For the launcher's notes of what it left out, one for each stream. */
const NOTES_BYTES = 512;

function childTerms(
  { limits, stdin, outputOverflow }: ProcessTerms,
  descriptors: ChildTerms['descriptors'],
): ChildTerms {
  return {
    descriptors,
    stdin: stdin === null ? null : Buffer.from(stdin),
    outputBytes: limits.outputBytes + (outputOverflow === 'cut' ? NOTES_BYTES : 0),
    wallMs: limits.wallMs + BEHIND_MS,
    graceMs: GRACE_MS,
  };
}

/** A launcher ends when its descriptors close, and starts nothing without arguments; the kill is for a hung one. */
function giveUp(child: Sandbox['child']): void {
  if ('error' in child) return;
  for (const end of endsOf(child)) end.destroy();
  child.kill();
}

const BINDS = ['--ro-bind', '--bind'];

/** By the descriptors of a plan: a jail that is laid out once has the same ones each time. */
const planTexts = new WeakMap<CommandPlan['descriptors'], string>();

/**
 * What a sandbox is, as text: two sandboxes with the same text are the same to every command. It includes the whole
 * plan except the command, and of the host everything that a bind fixed when the sandbox was made: a replaced
 * directory, or a mount that was added, removed or made read-only, shows in a new sandbox but not in a warm one.
 */
export function identityOf(
  plan: CommandPlan,
  { terms, held }: Pick<Wish, 'terms' | 'held'>,
  mounts = readMounts(),
): string {
  const { memoryBytes, processes } = terms.limits;
  const { args, descriptors } = plan;
  const sources = new Set(args.filter((_, index) => BINDS.includes(args[index - 1] ?? '')));
  const files = [...sources].map((path) => fileText(() => statSync(path, { bigint: true })));
  const inside = descriptors.map((each) => insideText(each, held));
  const text = planTexts.get(descriptors) ?? planText(plan);
  planTexts.set(descriptors, text);
  return `${text}\n${JSON.stringify([memoryBytes, processes, held.identity, files, inside])}\n${mounts}`;
}

/** Bytes are compared directly. */
function planText({ words, args, descriptors }: CommandPlan): string {
  const texts = descriptors.map((each) =>
    each.role === 'bytes' && typeof each.bytes !== 'string'
      ? Buffer.from(each.bytes).toString('base64')
      : each,
  );
  return JSON.stringify([words, args, texts]);
}

/** Names in the workspace are compared by the files they refer to. */
function insideText(descriptor: Descriptor, { fd }: HeldWorkspace): string | null {
  if (descriptor.role !== 'pinned' && descriptor.role !== 'protected') return null;
  return fileText(() => lstatSync(`/proc/self/fd/${fd}/${descriptor.path}`, { bigint: true }));
}

function fileText(look: () => { readonly dev: bigint; readonly ino: bigint }): string {
  const file = orElse(look, null);
  return file === null ? 'gone' : `${file.dev}:${file.ino}`;
}

function readMounts(): string {
  return readFileSync('/proc/self/mountinfo', 'utf8');
}

/**
 * Returns null when a run in this tier can have the workspace. Boundary: decided before anything is started, because a
 * jail would show a mount in the workspace, or what it covers, and a command could write there at once. Without a jail
 * an ordinary user's command sees what that user sees.
 */
export function checkMounts(
  { name }: Pick<CommandTier, 'name'>,
  { runAs }: Pick<SandboxKit, 'runAs'>,
  workspace: string,
  mounts = readMounts(),
): Refused | null {
  if (name !== 'c' && runAs === null) return null;
  // Names of these characters are not escaped in the table.
  if (/^[\w./@+-]+$/.test(workspace) && !mounts.includes(` ${workspace}/`)) return null;
  const points = parseMounts(mounts).map(({ point }) => point);
  const mount = points.find((point) => point !== workspace && isWithin(point, workspace));
  if (mount === undefined) return null;
  return unenforceable(
    `Cannot use the workspace "${workspace}": "${mount}" is a mount point, expected a directory with no mount in it`,
    `Unmount it with \`umount\`, or choose a workspace without it.`,
  );
}
