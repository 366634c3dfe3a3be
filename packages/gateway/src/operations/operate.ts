import type { Wire } from '@palisade/sdk';
import {
  type ByteStream,
  type EventStream,
  type Operation,
  type OperationContext,
  perform,
} from './operation.ts';

/*
 * The one way to run an operation by its name. The rows of a noun are loaded when one of them is needed, so that a
 * command that runs none of them loads neither their schemas nor what their handlers need.
 */

type Noun = {
  readonly load: () => Promise<{ readonly operations: readonly Operation[] }>;
  readonly names: readonly string[];
};

/** Which file has the rows of which operations; a test checks it against the rows. */
export const NOUNS = {
  calls: {
    load: () => import('./calls.ts'),
    names: [
      'createCall',
      'listCalls',
      'getCall',
      'getCallReceipt',
      'getCallOutput',
      'getCallLog',
      'cancelCall',
      'getRun',
    ],
  },
  undo: { load: () => import('./undo.ts'), names: ['listUndo', 'planUndo', 'undoCall'] },
  tools: { load: () => import('./tools.ts'), names: ['listTools', 'getTool'] },
  approvals: {
    load: () => import('./approvals.ts'),
    names: ['listApprovals', 'getApproval', 'decideApproval'],
  },
  sessions: {
    load: () => import('./sessions.ts'),
    names: ['listSessions', 'getSession', 'beginSession', 'endSession'],
  },
  budgets: { load: () => import('./budgets.ts'), names: ['listBudgets'] },
  skills: {
    load: () => import('./skills.ts'),
    names: [
      'listSkills',
      'installSkill',
      'getSkill',
      'getSkillPackage',
      'compareSkill',
      'auditSkill',
      'approveSkill',
      'rollbackSkill',
      'quarantineSkill',
      'enableSkill',
      'disableSkill',
      'revokeSkill',
      'removeSkill',
    ],
  },
  trust: {
    load: () => import('./trust.ts'),
    names: ['listTrustedKeys', 'trustKey', 'rotateTrustedKey', 'revokeTrustedKey'],
  },
  policies: {
    load: () => import('./policies.ts'),
    names: ['getPolicies', 'replacePolicies', 'checkPolicies', 'explainCall', 'testPolicies'],
  },
  secrets: { load: () => import('./secrets.ts'), names: ['listSecrets', 'setSecret', 'removeSecret'] },
  storage: {
    load: () => import('./storage.ts'),
    names: ['listStorage', 'listStorageKeys', 'getStorageValue', 'deleteStorage'],
  },
  channels: {
    load: () => import('./channels.ts'),
    names: ['listChannels', 'publishMessage', 'listenToChannel'],
  },
  journal: {
    load: () => import('./journal.ts'),
    names: ['searchJournal', 'followJournal', 'exportJournal', 'getCheckpoint', 'getRecord', 'proveRecord'],
  },
  upstreams: {
    load: () => import('./upstreams.ts'),
    names: ['listUpstreams', 'getUpstream', 'refreshUpstream', 'approveUpstream'],
  },
  keys: { load: () => import('./keys.ts'), names: ['listKeys', 'exportKeys', 'rotateKey'] },
  identity: {
    load: () => import('./identity.ts'),
    names: ['listTokens', 'createToken', 'revokeToken', 'whoAmI'],
  },
  doctor: { load: () => import('./doctor.ts'), names: ['getDoctor'] },
} as const satisfies Readonly<Record<string, Noun>>;

export type OperationName = (typeof NOUNS)[keyof typeof NOUNS]['names'][number];

type Streams = {
  readonly createCall: Wire.Replies['createCall'] | EventStream;
  readonly followJournal: EventStream;
  readonly listenToChannel: EventStream;
  readonly exportJournal: ByteStream;
  readonly getCheckpoint: ByteStream;
  readonly proveRecord: ByteStream;
  readonly getSkillPackage: ByteStream;
  readonly exportKeys: ByteStream;
};

/** The result of an operation: its document as typed in the SDK, or a stream. */
export type ResultOf<Name extends OperationName> = Name extends keyof Streams
  ? Streams[Name]
  : Wire.Replies[Name & keyof Wire.Replies];

/** The row of an operation, which says what has to be open for it. */
export async function findOperation(name: OperationName): Promise<Operation> {
  const noun = Object.values<Noun>(NOUNS).find(({ names }) => names.includes(name));
  const row = (await noun?.load())?.operations.find((each) => each.name === name);
  if (row === undefined) throw new TypeError(`Cannot run ${name}: the table of operations has no such row`);
  return row;
}

/**
 * Runs an operation by its name: checks that the credential of the caller has its scope and that the input fits its
 * row. An operation that opens only the records runs without the policies for the owner of the state directory.
 */
export async function operate<Name extends OperationName>(
  context: OperationContext,
  name: Name,
  input: unknown,
): Promise<ResultOf<Name>> {
  return (await perform(await findOperation(name), context, input)) as ResultOf<Name>;
}
