/**
 * The tools of installed skills, found when they are called: nothing of a skill is read at a start, so that ten
 * thousand of them cost a gateway nothing. Every call checks again whether anything changed in the index (one row),
 * whether the key of its publisher is still valid, and whether the file of its package is the one that was read. A
 * changed file is read and compared to the byte; what differs from what was approved does not run.
 */
import { canonicalize } from '@palisade/sdk';
import type { Clock } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import { type Digest, digestBytes } from '../core/digest.ts';
import { type Refused, type RefusedCode, refuse } from '../core/outcome.ts';
import type { Tool } from '../core/tool.ts';
import type { Artifacts } from '../skills/artifacts.ts';
import {
  activeOf,
  epochOf,
  ownerOfTool,
  pageOfTools,
  skillAt,
  type ToolOwner,
} from '../skills/index/read.ts';
import type { InstalledSkill } from '../skills/index/skill.ts';
import type { SkillState } from '../skills/lifecycle.table.ts';
import type { SkillRef } from '../skills/lifecycle.ts';
import { readArchive } from '../skills/package/archive.ts';
import { keysOf, trustFor } from '../skills/trust.ts';
import type { Reader } from '../store/transaction.ts';
import { skillTools, toolIdOf } from './skill-tool.ts';

/** A tool that may be called, or why it may not; `misfit` puts a skill whose bytes changed into quarantine. */
export type FoundTool =
  | { readonly tool: Tool }
  | { readonly refused: Refused; readonly misfit?: () => Promise<void> };

type SkillToolsOptions = {
  readonly reader: Reader;
  readonly artifacts: Artifacts;
  readonly clock: Clock;
  /** Called for a skill whose package is not what was approved. */
  readonly onMisfit: (skill: SkillRef, why: string) => Promise<void>;
};

type Loaded = {
  readonly skill: InstalledSkill;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly expiresAtMs: number;
  stamp: string | null;
};

/** Skills that are kept in memory; the one that was loaded first is dropped first. */
const MOST_LOADED = 1_000;

export class SkillTools {
  readonly #options: SkillToolsOptions;
  readonly #loaded = new Map<string, Loaded>();
  readonly #byTool = new Map<string, Loaded>();
  #epoch = -1;

  constructor(options: SkillToolsOptions) {
    this.#options = options;
  }

  /** The current tool of that id; undefined where no skill has one. */
  find(toolId: string): FoundTool | undefined {
    this.#refresh();
    const known = this.#byTool.get(toolId);
    if (known !== undefined) return this.#judge(known, toolId);
    const [owner] = ownerOfTool(this.#options.reader, toolId);
    if (owner === undefined) return undefined;
    if (owner.state !== 'active') return { refused: refusalOf(toolId, owner) };
    const loaded = this.#load(owner, toolId);
    if ('refused' in loaded) return loaded;
    for (const id of loaded.tools.keys()) this.#byTool.set(id, loaded);
    return this.#judge(loaded, toolId);
  }

  /** Tools of active skills after this id, in the order of their ids; what cannot run now is left out. */
  page(after: string | null, limit: number): readonly Tool[] {
    const tools: Tool[] = [];
    // A short page is the last one, so what is left out is replaced by what follows.
    for (let from = after; tools.length < limit; ) {
      const rows = pageOfTools(this.#options.reader, { after: from, limit });
      tools.push(...rows.flatMap(({ toolId }) => this.#usable(toolId)));
      from = rows.at(-1)?.toolId ?? from;
      if (rows.length < limit) break;
    }
    return tools.slice(0, limit);
  }

  /** Grows with every change of the index. */
  version(): number {
    return epochOf(this.#options.reader);
  }

  /** The tools of one skill that may be called. */
  ofSkill(id: string): readonly Tool[] {
    return toolsOf(this.#options.reader, id).flatMap((toolId) => this.#usable(toolId));
  }

  #usable(toolId: string): readonly Tool[] {
    const found = unlessCorrupt(() => this.find(toolId));
    return found !== undefined && 'tool' in found ? [found.tool] : [];
  }

  /** Boundary: whether a tool that was found earlier is still what the index has, in this transaction. */
  holds(reader: Reader, tool: Tool): boolean {
    return epochOf(reader) === this.#epoch && this.#byTool.get(tool.id)?.tools.get(tool.id) === tool;
  }

  #refresh(): void {
    const epoch = epochOf(this.#options.reader);
    if (epoch === this.#epoch) return;
    this.#byTool.clear();
    this.#epoch = epoch;
  }

  /** What may have changed without a change of the index: time, and the disk. */
  #judge(loaded: Loaded, toolId: string): FoundTool | undefined {
    const { skill, tools, expiresAtMs } = loaded;
    const tool = tools.get(toolId);
    if (tool === undefined) return undefined;
    if (this.#options.clock.nowMs() >= expiresAtMs)
      return { refused: cannot(toolId, 'skill/untrusted', 'the key of its publisher has expired') };
    // Taken before the file is read: a file that replaces it afterwards has another one.
    const stamp = this.#options.artifacts.stampOf(skill.artifact);
    if (stamp === loaded.stamp) return { tool };
    try {
      this.#options.artifacts.read(skill.artifact);
      loaded.stamp = stamp;
      return { tool };
    } catch (error) {
      return this.#misfit(skill, toolId, error);
    }
  }

  /** Reads an active skill, or returns what was read before where nothing has changed. */
  #load({ id, version }: SkillRef, toolId: string): Loaded | Exclude<FoundTool, { tool: Tool }> {
    const { reader, clock, artifacts } = this.#options;
    let skill: InstalledSkill | null;
    try {
      skill = skillAt(reader, id, version);
    } catch (error) {
      return this.#misfit({ id, version }, toolId, error);
    }
    if (skill === null || skill.grant === null)
      return { refused: cannot(toolId, 'skill/quarantined', `${id}@${version} has no grant`) };
    const { publisher, keyId } = skill;
    const keys = keysOf(reader, publisher);
    const trust = trustFor(keys, { publisher, keyId, nowMs: clock.nowMs(), use: 'load' });
    if (!trust.ok) return { refused: cannot(toolId, trust.code, trust.why) };
    const before = this.#loaded.get(`${id}@${version}`);
    const expiresAtMs = keys.find((each) => each.keyId === keyId)?.expiresAtMs ?? Infinity;
    if (before !== undefined && isSame(before.skill, skill)) {
      const again = { ...before, expiresAtMs };
      this.#keep(again);
      return again;
    }
    try {
      const { artifact, grant } = skill;
      const stamp = artifacts.stampOf(artifact);
      const tools = skillTools({
        ...skill,
        grant,
        modules: skill.report?.modules,
        digests: moduleDigests(artifacts.read(artifact), skill),
        read: async (path) => fileOf(artifacts.read(artifact), path),
      });
      const loaded = { skill, tools: new Map(tools.map((tool) => [tool.id, tool])), expiresAtMs, stamp };
      this.#keep(loaded);
      return loaded;
    } catch (error) {
      return this.#misfit(skill, toolId, error);
    }
  }

  #keep(loaded: Loaded): void {
    const { id, version } = loaded.skill;
    this.#loaded.delete(`${id}@${version}`);
    this.#loaded.set(`${id}@${version}`, loaded);
    const [oldest] = this.#loaded.keys();
    if (this.#loaded.size <= MOST_LOADED || oldest === undefined) return;
    this.#loaded.delete(oldest);
    this.#byTool.clear();
  }

  #misfit({ id, version }: SkillRef, toolId: string, error: unknown): Exclude<FoundTool, { tool: Tool }> {
    const code = error instanceof CodedError ? MISFITS.get(error.code) : undefined;
    if (code === undefined || !(error instanceof CodedError)) throw error;
    this.#loaded.delete(`${id}@${version}`);
    return {
      refused: cannot(toolId, code, error.message),
      misfit: () => this.#options.onMisfit({ id, version }, error.message),
    };
  }
}

/** The errors of a skill that is not what was approved, with the code for the caller. */
const MISFITS: ReadonlyMap<string, RefusedCode> = new Map<string, RefusedCode>([
  ['skill/changed', 'skill/changed'],
  ['skill/invalid-package', 'skill/changed'],
  ['store/corrupt', 'store/corrupt'],
]);

/** Boundary: a row that was tampered with removes no other tool from a list, and no policy from force. */
function unlessCorrupt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof CodedError && error.code === 'store/corrupt') return undefined;
    throw error;
  }
}

/** The ids of the tools of the active version. */
function toolsOf(reader: Reader, id: string): readonly string[] {
  const version = activeOf(reader, id);
  const skill = version === null ? null : unlessCorrupt(() => skillAt(reader, id, version));
  return skill?.manifest.tools.map((tool) => toolIdOf(id, tool.id)) ?? [];
}

/** Whether nothing that a tool depends on has changed; the clock alone is not enough, as it can be set back. */
function isSame(before: InstalledSkill, now: InstalledSkill): boolean {
  return (
    before.artifact === now.artifact &&
    before.changedAtMs === now.changedAtMs &&
    before.trust === now.trust &&
    canonicalize(before.grant) === canonicalize(now.grant)
  );
}

function moduleDigests(bytes: Uint8Array, { manifest }: InstalledSkill): ReadonlyMap<string, Digest> {
  const entries = readArchive(bytes);
  const modules = new Set(manifest.tools.map(({ module }) => module));
  return new Map(
    [...modules].map((path) => [path, digestBytes(entries.get(path) ?? new Uint8Array(0))] as const),
  );
}

function fileOf(bytes: Uint8Array, path: string): Uint8Array {
  const file = readArchive(bytes).get(path);
  if (file === undefined) throw new TypeError(`Cannot read "${path}": the package has no such file`);
  return file;
}

const CODES_OF_STATES: Readonly<Record<Exclude<SkillState, 'active'>, RefusedCode>> = {
  ingested: 'skill/quarantined',
  audited: 'skill/quarantined',
  quarantined: 'skill/quarantined',
  approved: 'skill/disabled',
  disabled: 'skill/disabled',
  failed: 'skill/failed',
  revoked: 'skill/revoked',
};

/** Boundary: only an active skill runs; an unknown state counts as quarantine. */
function refusalOf(toolId: string, { id, version, state, reason }: ToolOwner): Refused {
  const code = state === 'active' ? 'skill/quarantined' : (CODES_OF_STATES[state] ?? 'skill/quarantined');
  return cannot(toolId, code, `${id}@${version} is ${state}${reason === null ? '' : ` (${reason})`}`);
}

function cannot(toolId: string, code: RefusedCode, why: string): Refused {
  return refuse(code, `Cannot call "${toolId}": ${why}`);
}
