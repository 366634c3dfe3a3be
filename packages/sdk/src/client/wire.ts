import type { ApprovalDocument, ApprovalPage, DecisionRequest } from './wire/approval.ts';
import type { CallDocument, CallPage, CallRequest, CancelledCall, RunPage, ShownCall } from './wire/call.ts';
import type * as gateway from './wire/gateway.ts';
import type { HashedRecords, JournalPage, JournalProof } from './wire/journal.ts';
import type { Json, SignedEnvelope } from './wire/parts.ts';
import type * as policy from './wire/policy.ts';
import type { SecretList, SecretRemoved, SecretSet } from './wire/secret.ts';
import type * as skill from './wire/skill.ts';
import type { SkillComparison } from './wire/skill-parts.ts';
import type { ToolDocument, ToolPage } from './wire/tool.ts';
import type * as trust from './wire/trust.ts';
import type { ApproveUpstreamRequest, UpstreamDocument, UpstreamList } from './wire/upstream.ts';

/* The documents of the HTTP API, by the operation that gives or takes them. The gateway is held to them by a test. */

/** What comes back as JSON. */
export type Replies = {
  readonly createCall: CallDocument;
  readonly listCalls: CallPage;
  readonly getCall: ShownCall;
  readonly getCallReceipt: SignedEnvelope;
  readonly getCallOutput: Json;
  readonly cancelCall: CancelledCall;
  readonly getRun: RunPage;
  readonly listTools: ToolPage;
  readonly getTool: ToolDocument;
  readonly listApprovals: ApprovalPage;
  readonly getApproval: ApprovalDocument;
  readonly decideApproval: ApprovalDocument;
  readonly listBudgets: gateway.Budgets;
  readonly listSkills: skill.SkillPage;
  readonly installSkill: skill.InstalledSkill;
  readonly getSkill: skill.ShownSkill;
  readonly compareSkill: SkillComparison;
  readonly auditSkill: skill.SkillAudit;
  readonly approveSkill: skill.ApprovedSkill;
  readonly rollbackSkill: skill.RolledBackSkill;
  readonly quarantineSkill: skill.ChangedSkill;
  readonly enableSkill: skill.ChangedSkill;
  readonly disableSkill: skill.ChangedSkill;
  readonly revokeSkill: skill.ChangedSkill;
  readonly removeSkill: skill.ChangedSkill;
  readonly listTrustedKeys: trust.TrustList;
  readonly trustKey: trust.TrustedKey;
  readonly rotateTrustedKey: trust.RotatedTrust;
  readonly revokeTrustedKey: trust.RevokedTrust;
  readonly getPolicies: policy.PoliciesDocument;
  readonly replacePolicies: policy.ReplacedPolicies;
  readonly checkPolicies: policy.CheckedPolicies;
  readonly explainCall: policy.Explanation;
  readonly listSecrets: SecretList;
  readonly setSecret: SecretSet;
  readonly removeSecret: SecretRemoved;
  readonly searchJournal: JournalPage;
  readonly getCheckpoint: SignedEnvelope;
  readonly getRecord: HashedRecords;
  readonly proveRecord: JournalProof;
  readonly listKeys: gateway.KeyList;
  readonly rotateKey: gateway.RotatedKey;
  readonly listTokens: gateway.TokenPage;
  readonly createToken: gateway.CreatedToken;
  readonly revokeToken: gateway.TokenDocument;
  readonly listUpstreams: UpstreamList;
  readonly getUpstream: UpstreamDocument;
  readonly approveUpstream: UpstreamDocument;
  readonly whoAmI: gateway.WhoAmI;
  readonly getDoctor: gateway.DoctorReport;
};

/** What is sent: JSON, or bytes as they are. */
export type Bodies = {
  readonly createCall: CallRequest;
  readonly decideApproval: DecisionRequest;
  readonly installSkill: Uint8Array | Blob;
  readonly auditSkill: skill.AuditRequest;
  readonly approveSkill: skill.ApproveRequest;
  readonly rollbackSkill: skill.RollbackRequest;
  readonly quarantineSkill: skill.ChangeRequest;
  readonly enableSkill: skill.ChangeRequest;
  readonly disableSkill: skill.ChangeRequest;
  readonly revokeSkill: skill.ChangeRequest;
  readonly trustKey: trust.AddTrustRequest;
  readonly rotateTrustedKey: trust.RotateTrustRequest;
  readonly revokeTrustedKey: trust.RevokeTrustRequest;
  readonly replacePolicies: policy.ReplacePoliciesRequest;
  readonly checkPolicies: policy.CheckPoliciesRequest;
  readonly explainCall: policy.ExplainRequest;
  readonly setSecret: Uint8Array | Blob;
  readonly createToken: gateway.TokenRequest;
  readonly approveUpstream: ApproveUpstreamRequest;
};

export type { ApprovalDocument, ApprovalPage, ApprovalState, DecisionRequest } from './wire/approval.ts';
export type {
  AskedApproval,
  CallDocument,
  CallPage,
  CallRequest,
  CallStatus,
  CancelledCall,
  EndedCall,
  ListedCall,
  OutputEvent,
  RunningCall,
  RunPage,
  ShownCall,
  StartedEvent,
} from './wire/call.ts';
export type {
  BudgetAccount,
  BudgetRule,
  Budgets,
  CreatedToken,
  DoctorReport,
  Finding,
  KeyList,
  KeyRow,
  RotatedKey,
  TokenDocument,
  TokenPage,
  TokenRequest,
  WhoAmI,
} from './wire/gateway.ts';
export type { HashedRecords, JournalLine, JournalPage, JournalProof } from './wire/journal.ts';
export type { Json, JsonSchema, Risk, Scope, SignedEnvelope, TierName } from './wire/parts.ts';
export type {
  CheckedPolicies,
  CheckPoliciesRequest,
  ExplainRequest,
  Explanation,
  PoliciesDocument,
  Policy,
  PolicyFiles,
  PolicyProblem,
  ReplacedPolicies,
  ReplacePoliciesRequest,
} from './wire/policy.ts';
export type { SecretList, SecretRemoved, SecretRow, SecretSet } from './wire/secret.ts';
export type {
  ApprovedSkill,
  ApproveRequest,
  AuditFinding,
  AuditReport,
  AuditRequest,
  AuditVerdict,
  ChangedSkill,
  ChangeRequest,
  InstalledSkill,
  RollbackRequest,
  RolledBackSkill,
  ShownSkill,
  SkillAudit,
  SkillCapability,
  SkillDocument,
  SkillPage,
  SkillState,
  SkillSummary,
} from './wire/skill.ts';
export type { SkillComparison, SkillDifference, SkillGrant, SkillTool } from './wire/skill-parts.ts';
export type { ToolDocument, ToolPage, ToolRow } from './wire/tool.ts';
export type {
  AddTrustRequest,
  RevokedTrust,
  RevokeTrustRequest,
  RotatedTrust,
  RotateTrustRequest,
  TrustedKey,
  TrustList,
} from './wire/trust.ts';
export type {
  ApproveUpstreamRequest,
  UpstreamDefinition,
  UpstreamDocument,
  UpstreamList,
  UpstreamSummary,
} from './wire/upstream.ts';
