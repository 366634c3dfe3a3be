import type { Wire } from '@palisade/sdk';
import {
  type ByteStream,
  type EventStream,
  type Operation,
  type OperationContext,
  perform,
} from './operation.ts';

type Rows = Promise<readonly Operation[]>;

/*
 * The one way to run an operation by its name. The rows of a noun are loaded when one of them is needed, so that a
 * command that runs none of them loads neither their schemas nor what their handlers need.
 */

const calls = (): Rows => import('./calls.ts').then((rows) => rows.callOperations);
const tools = (): Rows => import('./tools.ts').then((rows) => rows.toolOperations);
const approvals = (): Rows => import('./approvals.ts').then((rows) => rows.approvalOperations);
const budgets = (): Rows => import('./budgets.ts').then((rows) => rows.budgetOperations);
const skills = (): Rows => import('./skills.ts').then((rows) => rows.skillOperations);
const trust = (): Rows => import('./trust.ts').then((rows) => rows.trustOperations);
const policies = (): Rows => import('./policies.ts').then((rows) => rows.policyOperations);
const secrets = (): Rows => import('./secrets.ts').then((rows) => rows.secretOperations);
const journal = (): Rows => import('./journal.ts').then((rows) => rows.journalOperations);
const upstreams = (): Rows => import('./upstreams.ts').then((rows) => rows.upstreamOperations);
const keys = (): Rows => import('./keys.ts').then((rows) => rows.keyOperations);
const identity = (): Rows => import('./identity.ts').then((rows) => rows.identityOperations);
const doctor = (): Rows => import('./doctor.ts').then((rows) => rows.doctorOperations);

/** Which file has the row of which operation; a test checks it against the rows. */
export const NOUNS = {
  createCall: calls,
  listCalls: calls,
  getCall: calls,
  getCallReceipt: calls,
  getCallOutput: calls,
  cancelCall: calls,
  getRun: calls,
  listTools: tools,
  getTool: tools,
  listApprovals: approvals,
  getApproval: approvals,
  decideApproval: approvals,
  listBudgets: budgets,
  listSkills: skills,
  installSkill: skills,
  getSkill: skills,
  getSkillPackage: skills,
  compareSkill: skills,
  auditSkill: skills,
  approveSkill: skills,
  rollbackSkill: skills,
  quarantineSkill: skills,
  enableSkill: skills,
  disableSkill: skills,
  revokeSkill: skills,
  removeSkill: skills,
  listTrustedKeys: trust,
  trustKey: trust,
  rotateTrustedKey: trust,
  revokeTrustedKey: trust,
  getPolicies: policies,
  replacePolicies: policies,
  checkPolicies: policies,
  explainCall: policies,
  testPolicies: policies,
  listSecrets: secrets,
  setSecret: secrets,
  removeSecret: secrets,
  searchJournal: journal,
  followJournal: journal,
  exportJournal: journal,
  getCheckpoint: journal,
  getRecord: journal,
  proveRecord: journal,
  listUpstreams: upstreams,
  getUpstream: upstreams,
  refreshUpstream: upstreams,
  approveUpstream: upstreams,
  listKeys: keys,
  exportKeys: keys,
  rotateKey: keys,
  listTokens: identity,
  createToken: identity,
  revokeToken: identity,
  whoAmI: identity,
  getDoctor: doctor,
} as const satisfies Readonly<Record<string, () => Rows>>;

export type OperationName = keyof typeof NOUNS;

type Streams = {
  readonly createCall: Wire.Replies['createCall'] | EventStream;
  readonly followJournal: EventStream;
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
  const row = (await NOUNS[name]()).find((each) => each.name === name);
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
