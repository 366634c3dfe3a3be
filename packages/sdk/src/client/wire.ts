import type { Bodies, Events, Problems, Replies, Schemas } from '../api.generated.ts';

/* Names for the documents of the HTTP API. Their shapes are those of the gateway's table of operations. */

export type { Bodies, Json, Replies } from '../api.generated.ts';

export type JsonSchema = Schemas['Tool']['inputSchema'];
export type Risk = Schemas['ToolRow']['risk'];
/** Where a tool runs: inside the gateway, or in one of the sandbox tiers. */
export type TierName = Schemas['ToolRow']['tier'];
/** What a credential may be used for. */
export type Scope = Schemas['Token']['scopes'][number];
/** A signed document, as `verifyReceipt` and `verifyCheckpoint` take it once it is text again. */
export type SignedEnvelope = Schemas['Envelope'];

/** What a call is made of. The caller is in the token, and nowhere else. */
export type CallRequest = Bodies['createCall'];
/** How a call ended. */
export type CallDocument = Schemas['Call'];
export type CallStatus = CallDocument['status'];
/** The request that a call waits for, where a person has to approve it. */
export type AskedApproval = NonNullable<CallDocument['approval']>;
export type RunningCall = Schemas['RunningCall'];
/** A call that has ended, without what may be large. */
export type EndedCall = Schemas['EndedCall'];
export type CallPage = Replies['listCalls'];
export type ListedCall = CallPage['calls'][number];
/** Everything that is stored of a call. */
export type ShownCall = Replies['getCall'];
export type CancelledCall = Replies['cancelCall'];
export type RunPage = Replies['getRun'];

/** The data of the events of a call; that of `ended` is its document. */
export type StartedEvent = DataOf<'started'>;
/** One of `text` and `base64`: text where the bytes are UTF-8. */
export type OutputEvent = DataOf<'output'>;
type DataOf<Name> = Extract<Events['createCall'], { readonly event: Name }>['data'];
/** A problem that a call ended with, or that kept a request from becoming one. */
export type CallProblem = Problems['createCall'];

export type ToolRow = Schemas['ToolRow'];
export type ToolDocument = Schemas['Tool'];
export type ToolPage = Replies['listTools'];

/** A question to a person, and its answer once there is one. */
export type ApprovalDocument = Schemas['Approval'];
export type ApprovalState = ApprovalDocument['state'];
export type ApprovalPage = Replies['listApprovals'];
export type DecisionRequest = Bodies['decideApproval'];

/** What lists show of one version of a skill. */
export type SkillSummary = Schemas['SkillSummary'];
/** One version with all that is known of it. */
export type SkillDocument = Schemas['Skill'];
export type SkillPage = Replies['listSkills'];
export type SkillState = SkillSummary['state'];
export type SkillTool = SkillDocument['tools'][number];
/** What it requests and the decision on it; `spelling` is what withholds it. */
export type SkillCapability = SkillDocument['capabilities'][number];
/** What the operator approved; what was withheld keeps its position and is closed. */
export type SkillGrant = NonNullable<SkillDocument['grant']>;
export type ShownSkill = Schemas['ShownSkill'];
export type InstalledSkill = Replies['installSkill'];
export type ApprovedSkill = Schemas['ApprovedSkill'];
export type ChangedSkill = Schemas['ChangedSkill'];
export type RolledBackSkill = Replies['rollbackSkill'];
export type AuditReport = Schemas['AuditReport'];
export type AuditFinding = AuditReport['findings'][number];
export type AuditVerdict = AuditReport['verdict'];
/** What came of an audit, and what the skill is after it. */
export type SkillAudit = Schemas['SkillAudit'];
/** What a version has that another does not; `widens` says whether it could do more than before. */
export type SkillDifference = Schemas['SkillDifference'];
export type SkillComparison = Schemas['SkillComparison'];
export type AuditRequest = Bodies['auditSkill'];
export type ApproveRequest = Bodies['approveSkill'];
export type ChangeRequest = Bodies['enableSkill'];
export type RollbackRequest = Bodies['rollbackSkill'];

/** A key that signs skills for a publisher. */
export type TrustedKey = Schemas['TrustedKey'];
export type TrustList = Replies['listTrustedKeys'];
export type RotatedTrust = Replies['rotateTrustedKey'];
export type RevokedTrust = Replies['revokeTrustedKey'];
export type AddTrustRequest = Bodies['trustKey'];
export type RotateTrustRequest = Bodies['rotateTrustedKey'];
export type RevokeTrustRequest = Bodies['revokeTrustedKey'];

/** The active set, and the files as they are; the two differ while the files have problems. */
export type PoliciesDocument = Schemas['Policies'];
export type Policy = PoliciesDocument['policies'][number];
export type PolicyProblem = Schemas['PolicyProblem'];
/** Policy files: name and text. */
export type PolicyFiles = PoliciesDocument['files'];
export type ReplacedPolicies = Schemas['ReplacedPolicies'];
export type CheckedPolicies = Schemas['PolicyCheck'];
export type Explanation = Schemas['Explanation'];
export type ReplacePoliciesRequest = Bodies['replacePolicies'];
export type CheckPoliciesRequest = Bodies['checkPolicies'];
export type ExplainRequest = Bodies['explainCall'];
export type TestPoliciesRequest = Bodies['testPolicies'];

/** All that is shown of a secret; its value never is. */
export type SecretRow = Schemas['Secret'];
export type SecretList = Replies['listSecrets'];
export type SecretSet = Replies['setSecret'];
export type SecretRemoved = Replies['removeSecret'];

/** One line of the journal. */
export type JournalLine = Schemas['JournalRecord'];
export type JournalPage = Replies['searchJournal'];
export type HashedRecords = Replies['getRecord'];
/** That a record is in the journal that a checkpoint is of. */
export type JournalProof = Schemas['JournalProof'];

export type UpstreamSummary = Schemas['UpstreamSummary'];
/** A server with what was accepted of it, and what it offers instead. */
export type UpstreamDocument = Schemas['Upstream'];
export type UpstreamList = Replies['listUpstreams'];
/** A tool as its server offers it. Its texts are those of the server, and are not to be trusted. */
export type UpstreamDefinition = UpstreamDocument['definitions'][number];
export type ApproveUpstreamRequest = Bodies['approveUpstream'];

/** What a skill has stored for a tenant. */
export type StorageSpace = Schemas['StorageSpace'];
export type StoragePage = Replies['listStorage'];
export type StorageEntry = Schemas['StorageEntry'];
export type StorageKeyPage = Replies['listStorageKeys'];
export type StorageValue = Replies['getStorageValue'];

/** A message on a channel, as a listener gets it. */
export type ChannelMessage = Schemas['ChannelMessage'];
export type ChannelList = Replies['listChannels'];
/** Who got a message. */
export type PublishedMessage = Replies['publishMessage'];

export type KeyList = Replies['listKeys'];
/** A key that receipts and checkpoints are signed with. */
export type KeyRow = KeyList['keys'][number];
export type RotatedKey = Replies['rotateKey'];

/** A token as lists show it; its text is nowhere in it. */
export type SessionDocument = Schemas['Session'];
export type SessionPage = Replies['listSessions'];
export type SessionRequest = Bodies['beginSession'];

export type TokenDocument = Schemas['Token'];
export type TokenPage = Replies['listTokens'];
/** The only document that ever has the text of a token. */
export type CreatedToken = Replies['createToken'];
export type TokenRequest = Bodies['createToken'];

/** A command that can be undone, or an undo. */
export type UndoableCommand = Schemas['Undoable'];
export type UndoPage = Replies['listUndo'];
export type UndoPlan = Replies['planUndo'];
export type Undone = Replies['undoCall'];
export type UndoRequest = Bodies['undoCall'];

/** The principal that the gateway has authenticated. */
export type WhoAmI = Replies['whoAmI'];
export type Budgets = Replies['listBudgets'];
export type BudgetRule = Budgets['rules'][number];
export type BudgetAccount = Budgets['accounts'][number];
export type DoctorReport = Replies['getDoctor'];
/** What was checked, and what to do about it. */
export type Finding = DoctorReport['findings'][number];
