import * as z from 'zod';
import { isoTime } from '../core/clock.ts';
import { undoCall } from '../invoke/undo.ts';
import type { Left, Step } from '../tiers/undo/plan.ts';
import type { Undoable } from '../tiers/undo/undo.ts';
import { actingOf, requireAdministrativeReader, tenantOf } from './access.ts';
import {
  ADMINISTERS,
  type OpenedGateway,
  type Operation,
  type OperationContext,
  operation,
} from './operation.ts';
import { isoTimeText, pageInput, pageOf, principalText, sha256, someId } from './schema-parts.ts';

/*
 * What commands changed in their workspaces, and how it is taken back. Files are written outside of every sandbox, so
 * this is for administrators; those of a tenant see and undo the commands of that tenant alone.
 */

const PAGE = 20;
/** More are counted. */
const MOST_NAMES = 1_000;

const undoable = z
  .object({
    id: z.string().describe('The id of a call, or of an undo.'),
    undoOf: z.string().nullable().describe('For an undo: what it undid.'),
    principal: principalText,
    tenant: z.string(),
    workspace: z.string(),
    command: z.string().describe('The name of the program, without its arguments.'),
    startedAt: isoTimeText,
    changes: z.int().describe('How many names it changed.'),
    whole: z.boolean().describe('False: not all of the workspace could be compared.'),
    endKnown: z
      .boolean()
      .describe('False: its gateway was killed; what changed until the next start counts as its own.'),
    beside: z
      .array(z.string())
      .describe('Calls in the same workspace at the same time; their changes are among these.'),
    undoneBy: z.string().nullable().describe('The last undo of it.'),
  })
  .meta({ id: 'Undoable' });
const left = z.object({ path: z.string(), why: z.string() });
const planned = undoable.omit({ undoneBy: true, changes: true }).extend({
  steps: z.array(
    z.object({ path: z.string(), act: z.enum(['restore', 'recreate', 'remove', 'mode']), kind: z.string() }),
  ),
  moreSteps: z.int().describe('Steps beyond those that are listed.'),
  conflicts: z.array(left).describe('Names that were changed after the command; they stay, unless forced.'),
  moreConflicts: z.int(),
  missing: z.array(left).describe('Names that cannot be restored.'),
  moreMissing: z.int(),
  already: z.int().describe('Names that are as before the command already.'),
});

const id = someId.describe('The id of a call of palisade.process.run, or of an undo.');
const force = z.boolean().default(false).describe('Also replaces what was changed after the command.');
const facts = { ...ADMINISTERS, noun: 'undo' } as const;
type Context = OperationContext<OpenedGateway>;

export const operations: readonly Operation[] = [
  operation({
    ...facts,
    name: 'listUndo',
    sentence: 'Lists the commands that can be undone, and undos, the newest first.',
    http: { method: 'GET', path: '/v1/undo' },
    input: pageInput(PAGE),
    output: pageOf('undo', undoable),
    handle: (context, { limit, cursor }) => {
      requireAdministrativeReader(context);
      const all = context.gateway.undos.list(tenantOf(context));
      const from = cursor === undefined ? 0 : all.findIndex((each) => each.id === cursor) + 1;
      const page = all.slice(from, from + limit);
      const next = from + limit < all.length ? (page.at(-1)?.id ?? null) : null;
      return { undo: page.map(listed), cursor: next };
    },
  }),
  operation({
    ...facts,
    name: 'planUndo',
    sentence: 'Shows what an undo of a command would do now; nothing is touched.',
    http: { method: 'GET', path: '/v1/undo/{id}' },
    input: z.strictObject({
      id,
      force: z.preprocess((raw) => raw === true || raw === 'true', z.boolean()).default(false),
    }),
    output: { schema: planned, sentence: 'What would be done, and what would stay.' },
    handle: (context, input) => {
      requireAdministrativeReader(context);
      const record = findRecord(context, input.id);
      const plan = context.gateway.undos.plan(record.id, input.force);
      return { ...head(record), ...names(plan), already: plan.done };
    },
  }),
  operation({
    ...facts,
    name: 'undoCall',
    sentence:
      'Takes back what a command changed in its workspace. What was changed after it stays, unless forced.',
    http: { method: 'POST', path: '/v1/undo/{id}' },
    input: z.strictObject({ id, force }),
    output: {
      schema: planned.extend({
        undo: z.string().describe('The id of this undo, by which it is undone itself.'),
        failed: z.array(left).describe('Names at which a step failed; they are as they were.'),
        digest: sha256.describe('Of what was done, as in the journal.'),
      }),
      sentence: 'What was done, and what stayed.',
    },
    handle: async (context, input) => {
      const record = findRecord(context, input.id);
      const { door, caller, gateway } = context;
      const asked = { record, isForced: input.force, door, credential: caller.credential };
      const { undoId, failed, digest, already, ...undone } = await undoCall(
        gateway,
        actingOf(context),
        asked,
      );
      return { ...head(record), ...names(undone), already, undo: undoId, failed, digest };
    },
  }),
];

/** Boundary: what a command of another tenant changed does not exist for the caller. */
function findRecord(context: Context, wanted: string): Undoable {
  return context.gateway.undos.find(wanted, tenantOf(context));
}

function head(record: Undoable) {
  const { id, of: undoOf, principal, tenant, workspace, command, startedMs, beside } = record;
  const { isWhole: whole, isEndKnown: endKnown } = record;
  const startedAt = isoTime(startedMs);
  return {
    id,
    undoOf,
    principal,
    tenant,
    workspace,
    command,
    startedAt,
    beside: [...beside],
    whole,
    endKnown,
  };
}

function listed(record: Undoable) {
  const { changes, undoneBy } = record;
  return { ...head(record), changes, undoneBy };
}

type Names = {
  readonly steps: readonly Step[];
  readonly conflicts: readonly Left[];
  readonly missing: readonly Left[];
};

function names({ steps, conflicts, missing }: Names) {
  const more = (list: readonly unknown[]) => Math.max(0, list.length - MOST_NAMES);
  return {
    steps: steps.slice(0, MOST_NAMES).map(({ path, act, goal, present }) => {
      return { path, act, kind: (goal ?? present)?.kind ?? 'unknown' };
    }),
    moreSteps: more(steps),
    conflicts: conflicts.slice(0, MOST_NAMES),
    moreConflicts: more(conflicts),
    missing: missing.slice(0, MOST_NAMES),
    moreMissing: more(missing),
  };
}
