/* Written by tools/sdk-types.mjs from the OpenAPI document of the gateway: change the operation, then run `npm run fix`. */

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The documents that have a name. */
export type Schemas = {
  readonly Approval: {
    readonly id: string;
    /** Names the very call that is asked for. */
    readonly digest: string;
    readonly tenant: string;
    readonly principal: string;
    readonly tool: string;
    /** The input without secrets; empty once it is used or expired. */
    readonly inputText: string;
    readonly inputDigest: string;
    readonly toolDigest: string;
    readonly policySet: string;
    /** The policies that permit the call once it is approved. */
    readonly policies: readonly string[];
    readonly risk: 'low' | 'medium' | 'high';
    /** Milliseconds since 1970. */
    readonly askedAtMs: number;
    /** Milliseconds since 1970. */
    readonly expiresAtMs: number;
    readonly state: 'pending' | 'approved' | 'denied' | 'used' | 'expired';
    readonly decidedBy: string | null;
    readonly decidedAtMs: number | null;
    readonly note: string | null;
    readonly usedByCall: string | null;
    /** The session of the call that asked, and in it the label or the connection. */
    readonly run: string | null;
    /** What an approval is for: one call; every identical call of the run; or every identical call. Until it expires. */
    readonly lasts: 'call' | 'run' | 'time';
    readonly askedTool: {
      readonly description: string;
      readonly category: string;
      readonly tier: 'builtin' | 'a' | 'b' | 'c';
      readonly capabilities: readonly string[];
      readonly inputSchema: { readonly [key: string]: Json };
    } | null;
  };
  readonly ApprovedSkill: Schemas['Skill'] & {
    /** How many others have to approve the same. */
    readonly reviewersMissing: number;
  };
  readonly AuditReport: {
    readonly format: 1;
    /** The id of a skill, as acme.text. */
    readonly skill: string;
    /** A version by Semantic Versioning, as 1.2.0. */
    readonly version: string;
    readonly artifact: string;
    readonly verdict: 'passed' | 'failed';
    readonly findings: readonly {
      /** Of the check that found it. */
      readonly id: string;
      readonly severity: 'refusal' | 'warning' | 'note';
      readonly where: string;
      readonly sentence: string;
      readonly remedy: string;
    }[];
    /** How many checks looked. */
    readonly checks: number;
    /** How the test cases of the package ended; null: they were not run. */
    readonly cases: {
      readonly passed: number;
      readonly failed: number;
      readonly notRun: number;
    } | null;
    /** The version that audited. */
    readonly palisade: string;
    /** The functions of the ABI that each module imports; null: unknown, and counts as all. */
    readonly modules?: readonly {
      readonly path: string;
      readonly imports: readonly string[] | null;
    }[] | undefined;
  };
  readonly Call: {
    readonly callId: string;
    readonly status: 'ok' | 'failed' | 'refused';
    /** One of the table of codes; `ok` for a call that succeeded. */
    readonly code: string;
    readonly message: string;
    readonly remedy: string | null;
    readonly output: Json;
    readonly usage: Schemas['Usage'];
    /** Null where nothing could be recorded. */
    readonly receipt: Schemas['Envelope'] | null;
    /** The output was cut off. */
    readonly truncated?: true | undefined;
    readonly approval?: {
      readonly id: string;
      /** A time in UTC. */
      readonly expiresAt: string;
      /** What a user runs to approve it. */
      readonly approveWith: string;
    } | undefined;
    /** What the guest logged and was denied; left out where there is nothing. */
    readonly log?: Schemas['CallLog'] | undefined;
    /** It had ended before, and is given again for its idempotency key. */
    readonly replayed?: true | undefined;
  };
  readonly CallEvent: {
    readonly event: 'started';
    readonly data: {
      readonly callId: string;
    };
  } | {
    readonly event: 'output';
    readonly data: {
      readonly stream: 'stdout' | 'stderr';
      /** What was printed, where it is UTF-8. */
      readonly text?: string | undefined;
      /** Its bytes, where they are not. */
      readonly base64?: string | undefined;
    };
  } | {
    readonly event: 'ended';
    readonly data: Schemas['Call'];
  };
  readonly CallLog: {
    /** What the guest logged. */
    readonly lines: readonly {
      readonly level: string;
      readonly text: string;
    }[];
    /** There were more lines than are kept. */
    readonly isCut: boolean;
    /** The host calls that it was denied. */
    readonly denied: readonly {
      readonly function: string;
      readonly argument: string | null;
      readonly why: string;
      readonly sentence: string;
      readonly remedy: string;
      readonly times: number;
    }[];
    /** Denials beside those in the list. */
    readonly deniedMore: number;
    /** The functions that were running when it trapped, the innermost first. */
    readonly trap: readonly {
      readonly function: number;
      readonly name: string | null;
      readonly source?: string | undefined;
    }[];
  };
  readonly ChangedSkill: Schemas['Skill'] & {
    readonly event: 'quarantine' | 'enable' | 'disable' | 'revoke' | 'remove';
  };
  readonly ChannelEvent: {
    readonly event: 'listening';
    readonly data: {
      /** The name of the channel: up to 64 lower-case letters, digits and . _ - that begin and end with a letter or digit. */
      readonly channel: string;
    };
  } | {
    readonly event: 'message';
    readonly data: Schemas['ChannelMessage'];
  };
  readonly ChannelMessage: {
    /** When it was received. */
    readonly at: string;
    readonly sender: {
      /** Who: agent:NAME, user:NAME or service:NAME. */
      readonly principal: string;
      /** The skill that published it; null: an operator. */
      readonly skill: string | null;
    };
    /** How many messages before it were missed, because they came faster than they were read. */
    readonly missed: number;
    /** How `message` is written: as text where its bytes are UTF-8. */
    readonly encoding: 'utf-8' | 'base64';
    readonly message: string;
  };
  readonly Checkpoint: Schemas['Envelope'];
  readonly CreateCallProblem: Schemas['Problem'] & {
    readonly callId?: string | undefined;
    readonly output?: Json | undefined;
    readonly usage?: Schemas['Usage'] | undefined;
    /** Null where nothing could be recorded. */
    readonly receipt?: Schemas['Envelope'] | null | undefined;
    readonly approval?: {
      readonly id: string;
      /** A time in UTC. */
      readonly expiresAt: string;
      /** What a user runs to approve it. */
      readonly approveWith: string;
    } | undefined;
    /** What the guest logged and was denied; left out where there is nothing. */
    readonly log?: Schemas['CallLog'] | undefined;
    /** It had ended before, and is given again for its idempotency key. */
    readonly replayed?: true | undefined;
    /** The output was cut off. */
    readonly truncated?: boolean | undefined;
  };
  readonly EndedCall: {
    readonly state: 'ended';
    readonly callId: string;
    /** Who: agent:NAME, user:NAME or service:NAME. */
    readonly principal: string;
    readonly tool: string;
    /** The label that its caller gave, else its session. */
    readonly run: string | null;
    /** The session that budgets per run count it by; null: none. */
    readonly session: string | null;
    readonly door: string;
    /** A time in UTC. */
    readonly endedAt: string;
    readonly status: 'ok' | 'failed' | 'refused';
    /** One of the table of codes; `ok` for a call that succeeded. */
    readonly code: string;
    readonly message: string;
    readonly remedy: string | null;
    readonly usage: Schemas['Usage'];
    readonly truncated: boolean;
  };
  readonly Envelope: {
    readonly payload: string;
    readonly payloadType: string;
    readonly signatures: readonly {
      readonly keyid: string;
      readonly sig: string;
    }[];
  };
  readonly Explanation: {
    /** Who: agent:NAME, user:NAME or service:NAME. */
    readonly principal: string;
    readonly tool: string;
    readonly verdict: 'allow' | 'ask' | 'deny' | 'error';
    /** Where the call was taken to come from. */
    readonly from: {
      readonly device: string | null;
      readonly channel: string | null;
      readonly session: string | null;
    };
    /** What the policies are told that the call can do. */
    readonly capabilities: readonly string[];
    readonly setDigest: string | null;
    readonly decidedBy: readonly {
      readonly id: string;
      readonly file: string;
      readonly effect: 'permit' | 'forbid';
      readonly text: string;
    }[];
    readonly errors: readonly {
      readonly policy: string | null;
      readonly message: string;
    }[];
    readonly policies: readonly {
      readonly id: string;
      readonly file: string;
      readonly effect: 'permit' | 'forbid';
      readonly text: string;
      readonly matched: boolean;
      readonly parts: readonly {
        readonly kind: 'principal' | 'action' | 'resource' | 'when' | 'unless';
        readonly text: string;
        readonly state: 'holds' | 'differs' | 'fails';
      }[];
    }[];
    readonly approvalWouldHelp: boolean;
    /** What would have to be different for the other answer. */
    readonly differences: readonly string[];
    readonly approval: {
      readonly id: string;
      readonly state: 'pending' | 'approved' | 'denied' | 'expired';
    } | null;
  };
  readonly JournalProof: {
    readonly checkpoint: Schemas['Envelope'];
    readonly format: string;
    readonly path: readonly string[];
    /** The line of the record. */
    readonly record: string;
  };
  readonly JournalRecord: {
    /** A time in UTC. */
    readonly at: string;
    readonly body: { readonly [key: string]: Json };
    readonly call: string | null;
    readonly kind: string;
    /** The hash of the record before. */
    readonly prev: string;
    readonly principal: string | null;
    readonly seq: number;
    readonly tenant: string | null;
    readonly tool: string | null;
    readonly v: 1;
  };
  readonly Limits: {
    readonly memoryBytes: number;
    readonly wallMs: number;
    readonly cpuMs: number;
    readonly fuel: number;
    readonly outputBytes: number;
    readonly egressBytes: number;
  };
  readonly Policies: {
    /** Of the set that decides; null: no set does, and all is denied. */
    readonly digest: string | null;
    /** The set that decides. */
    readonly policies: readonly {
      readonly id: string;
      readonly file: string;
      readonly effect: 'permit' | 'forbid';
      readonly text: string;
    }[];
    /** Why the files are not the set that decides; empty where they are. */
    readonly problems: readonly Schemas['PolicyProblem'][];
    /** The files as they are: name and text. */
    readonly files: { readonly [key: string]: string };
    /** Of those files: what `ifDigest` has to be. */
    readonly filesDigest: string;
  };
  readonly PolicyCheck: {
    readonly ok: boolean;
    /** Of the set that these files are; null: they are not a valid set. */
    readonly digest: string | null;
    readonly problems: readonly Schemas['PolicyProblem'][];
    readonly warnings: readonly Schemas['PolicyProblem'][];
  };
  readonly PolicyProblem: {
    readonly file: string;
    readonly line: number;
    readonly column: number;
    readonly policy: string | null;
    readonly message: string;
    readonly hint: string | null;
  };
  readonly PolicyTest: {
    readonly passed: number;
    readonly failed: number;
    readonly cases: readonly {
      readonly name: string;
      /** Where it begins in the file. */
      readonly line: number;
      readonly passed: boolean;
      readonly expected: 'allow' | 'deny' | 'ask' | 'error';
      readonly actual: 'allow' | 'deny' | 'ask' | 'error';
      readonly decidedBy: readonly string[];
      /** Why it did not pass; empty where it did. */
      readonly message: string;
    }[];
  };
  readonly Problem: {
    /** `urn:palisade:code:` and the code. */
    readonly type: string;
    /** What the code means. */
    readonly title: string;
    readonly status: number;
    /** What happened this time. */
    readonly detail: string;
    readonly code: 'ok' | 'door/wrong-usage' | 'door/invalid-call' | 'door/unauthenticated' | 'door/insufficient-scope' | 'door/forbidden-origin' | 'door/not-found' | 'door/method-not-allowed' | 'door/timed-out' | 'door/too-large' | 'door/unsupported-media' | 'door/rate-limited' | 'door/draining' | 'door/already-serving' | 'door/call-open' | 'door/idempotency-conflict' | 'session/unknown' | 'session/too-many' | 'token/unknown' | 'run/unknown' | 'upstream/unknown' | 'upstream/quarantined' | 'tier/upstream-failed' | 'registry/unknown-tool' | 'registry/invalid-input' | 'policy/denied' | 'policy/evaluation-error' | 'policy/unavailable' | 'policy/invalid' | 'policy/changed' | 'policy/locks-out' | 'policy/approval-required' | 'policy/approval-denied' | 'policy/approval-expired' | 'approval/unknown' | 'approval/not-pending' | 'approval/not-allowed' | 'budget/calls-exhausted' | 'budget/wall-exhausted' | 'budget/cpu-exhausted' | 'budget/fuel-exhausted' | 'budget/output-exhausted' | 'budget/egress-exhausted' | 'runner/invalid-workspace' | 'runner/outside-workspace' | 'runner/not-found' | 'runner/not-allowed' | 'runner/environment' | 'runner/invalid-limits' | 'runner/egress-denied' | 'tier/unenforceable' | 'tier/timed-out' | 'tier/cancelled' | 'tier/output-exceeded' | 'tier/invalid-output' | 'tier/tool-error' | 'tier/not-started' | 'tier/unproven' | 'tier/exited' | 'tier/out-of-memory' | 'tier/out-of-cpu' | 'tier/out-of-fuel' | 'tier/trapped' | 'tier/invalid-module' | 'tier/unknown-ending' | 'tier/withdrawn' | 'skill/unknown' | 'skill/invalid-manifest' | 'skill/invalid-package' | 'skill/unsigned' | 'skill/bad-signature' | 'skill/untrusted' | 'skill/downgrade' | 'skill/conflict' | 'skill/incompatible' | 'skill/audit-failed' | 'skill/wrong-state' | 'skill/invalid-grant' | 'skill/quarantined' | 'skill/disabled' | 'skill/failed' | 'skill/revoked' | 'skill/changed' | 'skill/tests-failed' | 'skill/build-failed' | 'oci/failed' | 'oci/unknown' | 'oci/denied' | 'oci/not-allowed' | 'oci/mismatch' | 'oci/not-a-skill' | 'oci/moved' | 'package/unknown' | 'package/refused' | 'package/changed' | 'package/fetch-failed' | 'journal/unknown-record' | 'attest/unverified' | 'attest/missing-key' | 'config/invalid' | 'store/unwritable' | 'store/full' | 'store/locked' | 'store/corrupt' | 'store/newer' | 'store/clock-behind' | 'vault/missing' | 'vault/locked' | 'vault/unreadable' | 'wasm/malformed' | 'wasm/invalid' | 'wasm/feature' | 'wasm/limit' | 'wasm/link' | 'wasm/out-of-fuel' | 'wasm/trapped' | 'gateway/fault';
    /** What to do about it. */
    readonly remedy: string;
  };
  readonly ProblemEvent: {
    readonly event: 'problem';
    readonly data: Schemas['Problem'];
  };
  readonly RecordEvent: {
    readonly event: 'record';
    readonly data: Schemas['JournalRecord'];
  };
  readonly RemovedSkill: Schemas['ChangedSkill'] & {
    /** What it leaves, as far as the caller may see it; null: another version is installed. */
    readonly left: {
      readonly storage: readonly {
        readonly tenant: string;
        readonly keys: number;
        readonly bytes: number;
      }[];
      /** The names of those that were set for this skill alone. */
      readonly secrets: readonly string[];
    } | null;
  };
  readonly ReplacePoliciesProblem: Schemas['Problem'] & {
    readonly problems?: readonly Schemas['PolicyProblem'][] | undefined;
    readonly warnings?: readonly Schemas['PolicyProblem'][] | undefined;
  };
  readonly ReplacedPolicies: Schemas['Policies'] & {
    readonly warnings: readonly Schemas['PolicyProblem'][];
  };
  readonly RunningCall: {
    readonly state: 'running';
    readonly callId: string;
    /** Who: agent:NAME, user:NAME or service:NAME. */
    readonly principal: string;
    readonly tool: string;
    /** The label that its caller gave, else its session. */
    readonly run: string | null;
    /** The session that budgets per run count it by; null: none. */
    readonly session: string | null;
    readonly door: string;
    /** A time in UTC. */
    readonly startedAt: string;
  };
  readonly Secret: {
    readonly name: string;
    /** "global", "tenant:NAME", "principal:KIND:NAME" or "skill:ID". */
    readonly scope: string;
    /** One more with each new value. */
    readonly version: number;
    readonly bytes: number;
    /** When this value was set. */
    readonly createdAt: string;
    readonly usedAt: string | null;
  };
  readonly Session: {
    readonly id: string;
    readonly state: 'open' | 'ended';
    /** Who: agent:NAME, user:NAME or service:NAME. */
    readonly principal: string;
    readonly tenant: string;
    /** Names the credential in records; it is not a secret. */
    readonly credential: string;
    readonly device: string | null;
    readonly channel: string | null;
    /** As the credential called it when it began it. */
    readonly label: string | null;
    /** The credential began it, and only calls that name it as their run are in it. */
    readonly isBegun: boolean;
    /** A time in UTC. */
    readonly startedAt: string;
    /** The time of its last call. */
    readonly usedAt: string;
    readonly endedAt: string | null;
    /** Null: it is open, or ended by itself, being idle. */
    readonly endedBy: string | null;
  };
  readonly ShownSession: Schemas['Session'] & {
    /** What it has used of the budgets per run. */
    readonly accounts: readonly {
      readonly budget: string;
      /** TENANT, TENANT/PRINCIPAL, TENANT/TOOL or TENANT/SESSION. */
      readonly subject: string;
      /** Milliseconds since 1970. */
      readonly windowStartMs: number;
      readonly resetsAtMs: number | null;
      readonly units: readonly {
        readonly unit: 'calls' | 'wallMs' | 'cpuMs' | 'fuel' | 'outputBytes' | 'egressBytes';
        readonly spent: number;
        /** By calls that run. */
        readonly reserved: number;
        readonly limit: number | null;
        readonly left: number | null;
      }[];
    }[];
  };
  readonly ShownSkill: Schemas['Skill'] & {
    readonly versions: readonly {
      /** A version by Semantic Versioning, as 1.2.0. */
      readonly version: string;
      readonly state: 'ingested' | 'audited' | 'quarantined' | 'approved' | 'active' | 'disabled' | 'failed' | 'revoked';
    }[];
    /** What the key that signed it is valid for now. */
    readonly keyState: 'trusted' | 'retired' | 'expired' | 'revoked' | 'not trusted';
    /** By the skill, or by the operator where that is more. */
    readonly reviewersRequired: number;
  };
  readonly Skill: {
    /** The id of a skill, as acme.text. */
    readonly id: string;
    /** A version by Semantic Versioning, as 1.2.0. */
    readonly version: string;
    readonly state: 'ingested' | 'audited' | 'quarantined' | 'approved' | 'active' | 'disabled' | 'failed' | 'revoked';
    readonly name: string;
    readonly publisher: string;
    /** The SHA-256 digest of the package. */
    readonly artifact: string;
    /** Of the key that signed it. */
    readonly keyId: string;
    /** How that key came to be trusted. */
    readonly trust: 'operator' | 'first-use';
    /** Of the last change. */
    readonly reason: string | null;
    readonly approvedBy: readonly string[];
    /** A time in UTC. */
    readonly installedAt: string;
    readonly installedBy: string;
    /** A time in UTC. */
    readonly changedAt: string;
    /** A principal, or "gateway". */
    readonly changedBy: string;
    readonly auditedAt: string | null;
    readonly description: string;
    readonly license: string | null;
    readonly homepage: string | null;
    readonly verdict: 'passed' | 'failed' | null;
    readonly tools: readonly {
      readonly id: string;
      readonly name: string;
      readonly description: string;
      readonly risk: 'low' | 'medium' | 'high';
      readonly module: string;
      readonly export: string;
      readonly inputSchema: { readonly [key: string]: Json };
      readonly outputSchema: { readonly [key: string]: Json };
      readonly annotations: {
        readonly readOnly: boolean;
        readonly destructive: boolean;
        readonly idempotent: boolean;
        readonly openWorld: boolean;
      };
      /** What it can do with the grant, as far as its own module can use it; before an approval, with all that is requested. */
      readonly reach: {
        readonly risk: 'low' | 'medium' | 'high';
        readonly capabilities: readonly string[];
        readonly hosts: readonly string[];
      };
    }[];
    readonly capabilities: readonly {
      /** The spelling that withholds it. */
      readonly spelling: string;
      readonly sentence: string;
      readonly isReaching: boolean;
      readonly stand: 'open' | 'granted' | 'narrowed' | 'withheld';
      readonly granted: readonly string[];
    }[];
    readonly quotas: {
      readonly wallMs: number | null;
      readonly fuel: number | null;
      readonly memoryBytes: number | null;
    };
    readonly review: {
      readonly reviewers: number;
      readonly reauditDays: number | null;
    };
    readonly compat: {
      readonly abi: 1;
      readonly palisadeMin: string | null;
    };
    readonly grant: {
      readonly wasm: {
        readonly http: readonly (string | null)[];
        readonly secrets: readonly {
          readonly name: string;
          readonly mayReveal: boolean;
          readonly scope?: 'global' | 'tenant' | 'principal' | 'skill' | undefined;
          readonly hosts: readonly string[];
        }[];
        readonly storage: readonly {
          readonly read: readonly string[];
          readonly write: readonly string[];
        }[];
        readonly channels: readonly {
          readonly name: string;
          readonly publish: boolean;
          readonly receive: boolean;
        }[];
        readonly log: boolean;
        readonly clock: boolean;
        readonly random: boolean;
        readonly config: { readonly [key: string]: string } | null;
      };
      readonly limits: {
        readonly wallMs?: number | undefined;
        readonly fuel?: number | undefined;
        readonly memoryBytes?: number | undefined;
      };
    } | null;
    readonly report: Schemas['AuditReport'] | null;
  };
  readonly SkillAudit: Schemas['AuditReport'] & {
    readonly state: 'ingested' | 'audited' | 'quarantined' | 'approved' | 'active' | 'disabled' | 'failed' | 'revoked';
    readonly reason: string | null;
  };
  readonly SkillComparison: Schemas['SkillDifference'] & {
    /** The id of a skill, as acme.text. */
    readonly id: string;
    /** A version by Semantic Versioning, as 1.2.0. */
    readonly from: string;
    /** A version by Semantic Versioning, as 1.2.0. */
    readonly to: string;
    readonly against: 'asked' | 'granted';
  };
  readonly SkillDifference: {
    /** It could do more than before. */
    readonly widens: boolean;
    readonly capabilities: {
      readonly added: readonly string[];
      readonly removed: readonly string[];
    };
    readonly quotas: readonly {
      readonly name: 'wallMs' | 'fuel' | 'memoryBytes';
      readonly before: number | null;
      readonly after: number | null;
    }[];
    readonly reviewers: {
      readonly before: number;
      readonly after: number;
    } | null;
    readonly tools: {
      readonly added: readonly string[];
      readonly removed: readonly string[];
      readonly changed: readonly {
        readonly id: string;
        readonly what: readonly string[];
      }[];
    };
    /** The values that are kept when it is approved, and the keys that are new or gone. */
    readonly config: {
      readonly kept: { readonly [key: string]: string };
      readonly added: readonly string[];
      readonly removed: readonly string[];
    };
    readonly prose: {
      readonly changed: boolean;
      readonly lines: readonly string[];
    };
  };
  readonly SkillSummary: {
    /** The id of a skill, as acme.text. */
    readonly id: string;
    /** A version by Semantic Versioning, as 1.2.0. */
    readonly version: string;
    readonly state: 'ingested' | 'audited' | 'quarantined' | 'approved' | 'active' | 'disabled' | 'failed' | 'revoked';
    readonly name: string;
    readonly publisher: string;
    /** The SHA-256 digest of the package. */
    readonly artifact: string;
    /** Of the key that signed it. */
    readonly keyId: string;
    /** How that key came to be trusted. */
    readonly trust: 'operator' | 'first-use';
    /** Of the last change. */
    readonly reason: string | null;
    readonly approvedBy: readonly string[];
    /** A time in UTC. */
    readonly installedAt: string;
    readonly installedBy: string;
    /** A time in UTC. */
    readonly changedAt: string;
    /** A principal, or "gateway". */
    readonly changedBy: string;
    readonly auditedAt: string | null;
    /** How many tools it has. */
    readonly tools: number;
    readonly verdict: 'passed' | 'failed' | null;
  };
  readonly StorageEntry: {
    readonly key: string;
    readonly version: number;
    /** Of the value. */
    readonly bytes: number;
  };
  readonly StorageSpace: {
    readonly tenant: string;
    readonly skill: string;
    readonly keys: number;
    /** Of all keys and values together. */
    readonly bytes: number;
    /** False: no version of the skill is installed; what it stored is left. */
    readonly installed: boolean;
  };
  readonly Token: {
    readonly id: string;
    readonly state: 'active' | 'expired' | 'revoked';
    /** Who: agent:NAME, user:NAME or service:NAME. */
    readonly principal: string;
    readonly tenant: string;
    readonly scopes: readonly ('call' | 'read' | 'approve' | 'skills' | 'policy' | 'secrets' | 'admin')[];
    readonly label: string;
    /** The device of its holder, for policies and sessions. */
    readonly device: string | null;
    /** The client or the way in of its holder, for the same. */
    readonly channel: string | null;
    /** How many sessions of its own it may begin while one may be idle. */
    readonly sessions: number;
    /** A time in UTC. */
    readonly createdAt: string;
    readonly createdBy: string;
    /** A time in UTC. */
    readonly expiresAt: string;
    readonly revokedAt: string | null;
    readonly revokedBy: string | null;
  };
  readonly Tool: Schemas['ToolRow'] & {
    readonly category: string;
    readonly capabilities: readonly string[];
    readonly limits: Schemas['Limits'];
    readonly outputSchema: { readonly [key: string]: Json };
    readonly artifacts: readonly {
      readonly name: string;
      readonly sha256: string;
    }[];
    readonly title?: string | undefined;
    readonly annotations?: {
      readonly readOnly: boolean;
      readonly destructive: boolean;
      readonly idempotent: boolean;
      readonly openWorld: boolean;
    } | undefined;
    readonly skill?: {
      readonly id: string;
      readonly version: string;
      readonly publisher: string;
      readonly trust: 'operator' | 'first-use';
      /** Of the package. */
      readonly artifact: string;
      /** Of what its operator granted. */
      readonly grant: string;
    } | undefined;
  };
  readonly ToolRow: {
    readonly id: string;
    readonly description: string;
    readonly risk: 'low' | 'medium' | 'high';
    readonly tier: 'builtin' | 'a' | 'b' | 'c';
    /** The JSON Schema (2020-12) of its input. */
    readonly inputSchema: { readonly [key: string]: Json };
  };
  readonly TrustedKey: {
    readonly publisher: string;
    readonly keyId: string;
    readonly state: 'trusted' | 'retired' | 'expired' | 'revoked';
    readonly origin: 'operator' | 'first-use';
    readonly addedBy: string;
    /** Why it was revoked. */
    readonly reason: string | null;
    /** A time in UTC. */
    readonly addedAt: string;
    readonly expiresAt: string | null;
    readonly retiredAt: string | null;
    readonly revokedAt: string | null;
  };
  readonly Undoable: {
    /** The id of a call, or of an undo. */
    readonly id: string;
    /** For an undo: what it undid. */
    readonly undoOf: string | null;
    /** Who: agent:NAME, user:NAME or service:NAME. */
    readonly principal: string;
    readonly tenant: string;
    readonly workspace: string;
    /** The name of the program, without its arguments. */
    readonly command: string;
    /** A time in UTC. */
    readonly startedAt: string;
    /** How many names it changed. */
    readonly changes: number;
    /** False: not all of the workspace could be compared. */
    readonly whole: boolean;
    /** False: its gateway was killed; what changed until the next start counts as its own. */
    readonly endKnown: boolean;
    /** Calls in the same workspace at the same time; their changes are among these. */
    readonly beside: readonly string[];
    /** The last undo of it. */
    readonly undoneBy: string | null;
  };
  readonly Upstream: {
    readonly name: string;
    readonly state: 'unmet' | 'accepted' | 'quarantined';
    /** Why it is in quarantine. */
    readonly reason: string | null;
    /** Null: its client starts it, and alone knows where. */
    readonly tier: 'b' | 'c' | null;
    readonly risk: 'low' | 'medium' | 'high' | null;
    /** What the ids of its tools begin with. */
    readonly prefix: string | null;
    /** How many tools are accepted. */
    readonly tools: number;
    readonly acceptedBy: string | null;
    readonly acceptedAt: string | null;
    readonly changedAt: string | null;
    readonly command: readonly string[] | null;
    readonly workspace: string | null;
    readonly readOnly: readonly string[];
    readonly allowHosts: readonly string[];
    readonly secrets: readonly string[];
    /** The names of its variables. */
    readonly env: readonly string[];
    /** Of what is accepted. */
    readonly digest: string | null;
    /** Of what it offers instead; null: nothing else. */
    readonly offeredDigest: string | null;
    readonly difference: {
      readonly added: readonly string[];
      readonly removed: readonly string[];
      readonly renamed: readonly {
        readonly from: string;
        readonly to: string;
      }[];
      readonly changed: readonly {
        readonly name: string;
        readonly fields: readonly string[];
      }[];
    } | null;
    /** What is accepted. */
    readonly definitions: readonly {
      /** What the tool is called here. */
      readonly id: string;
      /** What its server calls it. */
      readonly name: string;
      readonly title: string | null;
      readonly description: string;
      readonly inputSchema: { readonly [key: string]: Json };
      readonly outputSchema: { readonly [key: string]: Json } | null;
      readonly annotations: {
        readonly readOnlyHint?: boolean | undefined;
        readonly destructiveHint?: boolean | undefined;
        readonly idempotentHint?: boolean | undefined;
        readonly openWorldHint?: boolean | undefined;
      };
    }[];
    readonly offered: readonly {
      /** What the tool is called here. */
      readonly id: string;
      /** What its server calls it. */
      readonly name: string;
      readonly title: string | null;
      readonly description: string;
      readonly inputSchema: { readonly [key: string]: Json };
      readonly outputSchema: { readonly [key: string]: Json } | null;
      readonly annotations: {
        readonly readOnlyHint?: boolean | undefined;
        readonly destructiveHint?: boolean | undefined;
        readonly idempotentHint?: boolean | undefined;
        readonly openWorldHint?: boolean | undefined;
      };
    }[] | null;
    readonly findings: readonly {
      readonly check: string;
      readonly severity: string;
      readonly where: string;
      readonly what: string;
    }[];
  };
  readonly UpstreamSummary: {
    readonly name: string;
    readonly state: 'unmet' | 'accepted' | 'quarantined';
    /** Why it is in quarantine. */
    readonly reason: string | null;
    /** Null: its client starts it, and alone knows where. */
    readonly tier: 'b' | 'c' | null;
    readonly risk: 'low' | 'medium' | 'high' | null;
    /** What the ids of its tools begin with. */
    readonly prefix: string | null;
    /** How many tools are accepted. */
    readonly tools: number;
    readonly acceptedBy: string | null;
    readonly acceptedAt: string | null;
    readonly changedAt: string | null;
    /** How many doubts its texts give reason to. */
    readonly findings: number;
  };
  readonly Usage: {
    readonly calls: number;
    readonly wallMs: number;
    readonly cpuMs: number;
    readonly fuel: number;
    readonly outputBytes: number;
    readonly egressBytes: number;
  };
};

/** What operations give as JSON. */
export type Replies = {
  readonly createCall: Schemas['Call'];
  readonly listCalls: {
    readonly calls: readonly (Schemas['RunningCall'] | Schemas['EndedCall'])[];
    /** For the next page; null: this is the last one. */
    readonly cursor: string | null;
  };
  readonly getCall: Schemas['RunningCall'] | Schemas['EndedCall'] & {
    readonly output: Json;
    /** False: there was more output than is kept, and `output` is null. */
    readonly isOutputKept: boolean;
    readonly receipt: Schemas['Envelope'] | null;
  };
  readonly getCallReceipt: Schemas['Envelope'];
  readonly getCallOutput: Json;
  readonly getCallLog: Schemas['CallLog'] & {
    readonly callId: string;
    readonly tool: string;
    readonly code: string;
    readonly message: string;
  };
  readonly cancelCall: {
    readonly callId: string;
    readonly cancelled: boolean;
  };
  readonly getRun: {
    readonly run: string;
    readonly calls: readonly (Schemas['RunningCall'] | Schemas['EndedCall'])[];
    /** For the next page; null: this is the last one. */
    readonly cursor: string | null;
  };
  readonly listUndo: {
    readonly undo: readonly Schemas['Undoable'][];
    /** For the next page; null: this is the last one. */
    readonly cursor: string | null;
  };
  readonly planUndo: {
    /** The id of a call, or of an undo. */
    readonly id: string;
    /** For an undo: what it undid. */
    readonly undoOf: string | null;
    /** Who: agent:NAME, user:NAME or service:NAME. */
    readonly principal: string;
    readonly tenant: string;
    readonly workspace: string;
    /** The name of the program, without its arguments. */
    readonly command: string;
    /** A time in UTC. */
    readonly startedAt: string;
    /** False: not all of the workspace could be compared. */
    readonly whole: boolean;
    /** False: its gateway was killed; what changed until the next start counts as its own. */
    readonly endKnown: boolean;
    /** Calls in the same workspace at the same time; their changes are among these. */
    readonly beside: readonly string[];
    readonly steps: readonly {
      readonly path: string;
      readonly act: 'restore' | 'recreate' | 'remove' | 'mode';
      readonly kind: string;
    }[];
    /** Steps beyond those that are listed. */
    readonly moreSteps: number;
    /** Names that were changed after the command; they stay, unless forced. */
    readonly conflicts: readonly {
      readonly path: string;
      readonly why: string;
    }[];
    readonly moreConflicts: number;
    /** Names that cannot be restored. */
    readonly missing: readonly {
      readonly path: string;
      readonly why: string;
    }[];
    readonly moreMissing: number;
    /** Names that are as before the command already. */
    readonly already: number;
  };
  readonly undoCall: {
    /** The id of a call, or of an undo. */
    readonly id: string;
    /** For an undo: what it undid. */
    readonly undoOf: string | null;
    /** Who: agent:NAME, user:NAME or service:NAME. */
    readonly principal: string;
    readonly tenant: string;
    readonly workspace: string;
    /** The name of the program, without its arguments. */
    readonly command: string;
    /** A time in UTC. */
    readonly startedAt: string;
    /** False: not all of the workspace could be compared. */
    readonly whole: boolean;
    /** False: its gateway was killed; what changed until the next start counts as its own. */
    readonly endKnown: boolean;
    /** Calls in the same workspace at the same time; their changes are among these. */
    readonly beside: readonly string[];
    readonly steps: readonly {
      readonly path: string;
      readonly act: 'restore' | 'recreate' | 'remove' | 'mode';
      readonly kind: string;
    }[];
    /** Steps beyond those that are listed. */
    readonly moreSteps: number;
    /** Names that were changed after the command; they stay, unless forced. */
    readonly conflicts: readonly {
      readonly path: string;
      readonly why: string;
    }[];
    readonly moreConflicts: number;
    /** Names that cannot be restored. */
    readonly missing: readonly {
      readonly path: string;
      readonly why: string;
    }[];
    readonly moreMissing: number;
    /** Names that are as before the command already. */
    readonly already: number;
    /** The id of this undo, by which it is undone itself. */
    readonly undo: string;
    /** Names at which a step failed; they are as they were. */
    readonly failed: readonly {
      readonly path: string;
      readonly why: string;
    }[];
    /** Of what was done, as in the journal. */
    readonly digest: string;
  };
  readonly listTools: {
    readonly tools: readonly Schemas['ToolRow'][];
    /** For the next page; null: this is the last one. */
    readonly cursor: string | null;
  };
  readonly getTool: Schemas['Tool'];
  readonly listApprovals: {
    readonly approvals: readonly Schemas['Approval'][];
    /** For the next page; null: this is the last one. */
    readonly cursor: string | null;
  };
  readonly getApproval: Schemas['Approval'];
  readonly decideApproval: Schemas['Approval'];
  readonly listSessions: {
    readonly sessions: readonly Schemas['Session'][];
    /** For the next page; null: this is the last one. */
    readonly cursor: string | null;
  };
  readonly beginSession: Schemas['Session'];
  readonly getSession: Schemas['ShownSession'];
  readonly endSession: Schemas['Session'];
  readonly listBudgets: {
    readonly rules: readonly {
      readonly name: string;
      readonly per: 'run' | 'principal' | 'tool' | 'tenant';
      /** The subjects that it is for, with `*`; null: all of them. */
      readonly match: string | null;
      /** Null: for the whole run. */
      readonly windowMs: number | null;
      /** Null: it is counted and not limited. */
      readonly calls: number | null;
      /** Null: it is counted and not limited. */
      readonly wallMs: number | null;
      /** Null: it is counted and not limited. */
      readonly cpuMs: number | null;
      /** Null: it is counted and not limited. */
      readonly fuel: number | null;
      /** Null: it is counted and not limited. */
      readonly outputBytes: number | null;
      /** Null: it is counted and not limited. */
      readonly egressBytes: number | null;
    }[];
    readonly accounts: readonly {
      readonly budget: string;
      /** TENANT, TENANT/PRINCIPAL, TENANT/TOOL or TENANT/SESSION. */
      readonly subject: string;
      /** Milliseconds since 1970. */
      readonly windowStartMs: number;
      readonly resetsAtMs: number | null;
      readonly units: readonly {
        readonly unit: 'calls' | 'wallMs' | 'cpuMs' | 'fuel' | 'outputBytes' | 'egressBytes';
        readonly spent: number;
        /** By calls that run. */
        readonly reserved: number;
        readonly limit: number | null;
        readonly left: number | null;
      }[];
    }[];
  };
  readonly listSkills: {
    readonly skills: readonly Schemas['SkillSummary'][];
    /** For the next page; null: this is the last one. */
    readonly cursor: string | null;
  };
  readonly installSkill: {
    readonly skill: Schemas['Skill'];
    /** Against the version that runs; null: none does. */
    readonly difference: Schemas['SkillDifference'] | null;
    /** False: the very same package was installed already. */
    readonly isNew: boolean;
  };
  readonly getSkill: Schemas['ShownSkill'];
  readonly removeSkill: Schemas['RemovedSkill'];
  readonly compareSkill: Schemas['SkillComparison'];
  readonly auditSkill: Schemas['SkillAudit'];
  readonly approveSkill: Schemas['ApprovedSkill'];
  readonly rollbackSkill: {
    /** The id of a skill, as acme.text. */
    readonly id: string;
    readonly from: string | null;
    /** A version by Semantic Versioning, as 1.2.0. */
    readonly to: string;
  };
  readonly quarantineSkill: Schemas['ChangedSkill'];
  readonly enableSkill: Schemas['ChangedSkill'];
  readonly disableSkill: Schemas['ChangedSkill'];
  readonly revokeSkill: Schemas['ChangedSkill'];
  readonly listTrustedKeys: {
    readonly keys: readonly Schemas['TrustedKey'][];
  };
  readonly trustKey: Schemas['TrustedKey'];
  readonly rotateTrustedKey: {
    readonly added: Schemas['TrustedKey'];
    readonly retired: readonly string[];
  };
  readonly revokeTrustedKey: {
    readonly key: Schemas['TrustedKey'];
    /** Skills that it signed, as ID@VERSION. */
    readonly quarantined: readonly string[];
  };
  readonly getPolicies: Schemas['Policies'];
  readonly replacePolicies: Schemas['ReplacedPolicies'];
  readonly checkPolicies: Schemas['PolicyCheck'];
  readonly explainCall: Schemas['Explanation'];
  readonly testPolicies: Schemas['PolicyTest'];
  readonly listSecrets: {
    /** Null: no secret was ever set. */
    readonly lockedWith: 'file' | 'passphrase' | null;
    readonly secrets: readonly Schemas['Secret'][];
  };
  readonly setSecret: {
    readonly name: string;
    /** "global", "tenant:NAME", "principal:KIND:NAME" or "skill:ID". */
    readonly scope: string;
    readonly version: number;
    readonly bytes: number;
  };
  readonly removeSecret: {
    readonly name: string;
    /** "global", "tenant:NAME", "principal:KIND:NAME" or "skill:ID". */
    readonly scope: string;
    readonly removed: true;
  };
  readonly listStorage: {
    readonly spaces: readonly Schemas['StorageSpace'][];
    /** For the next page; null: this is the last one. */
    readonly cursor: string | null;
  };
  readonly listStorageKeys: {
    readonly keys: readonly Schemas['StorageEntry'][];
    /** For the next page; null: this is the last one. */
    readonly cursor: string | null;
  };
  readonly getStorageValue: {
    /** The id of the skill, also of one that was removed; `local.NAME` of a module that was run by hand. */
    readonly skill: string;
    readonly key: string;
    readonly version: number;
    readonly bytes: number;
    /** How `value` is written: as text where its bytes are UTF-8. */
    readonly encoding: 'utf-8' | 'base64';
    /** Without the secrets of the machine. */
    readonly value: string;
    /** Whether there is more than is shown. */
    readonly truncated: boolean;
  };
  readonly deleteStorage: {
    /** The id of the skill, also of one that was removed; `local.NAME` of a module that was run by hand. */
    readonly skill: string;
    readonly keys: number;
    readonly bytes: number;
  };
  readonly listChannels: {
    readonly channels: readonly {
      /** The name of the channel: up to 64 lower-case letters, digits and . _ - that begin and end with a letter or digit. */
      readonly channel: string;
      readonly subscribers: number;
    }[];
    /** Processes of the gateway that did not answer in time; their subscribers are not counted. */
    readonly silent: number;
  };
  readonly publishMessage: {
    /** The name of the channel: up to 64 lower-case letters, digits and . _ - that begin and end with a letter or digit. */
    readonly channel: string;
    readonly bytes: number;
    /** How many subscribers took it. */
    readonly taken: number;
    /** How many missed it, because their queues are full. */
    readonly full: number;
    /** Processes of the gateway that did not answer in time; their subscribers are not counted. */
    readonly silent: number;
  };
  readonly searchJournal: {
    readonly records: readonly Schemas['JournalRecord'][];
    /** For the next page; null: this is the last one. */
    readonly cursor: string | null;
  };
  readonly getCheckpoint: Schemas['Checkpoint'];
  readonly getRecord: {
    readonly records: readonly (Schemas['JournalRecord'] & {
      readonly hash: string;
    })[];
  };
  readonly proveRecord: Schemas['JournalProof'];
  readonly listUpstreams: {
    readonly upstreams: readonly Schemas['UpstreamSummary'][];
  };
  readonly getUpstream: Schemas['Upstream'];
  readonly refreshUpstream: {
    readonly name: string;
    /** Pinned: it was met for the first time, and what it offers was accepted. */
    readonly state: 'pinned' | 'accepted' | 'quarantined' | 'unreadable';
    /** Why it is held, or cannot be read. */
    readonly reason: string | null;
  };
  readonly approveUpstream: Schemas['Upstream'];
  readonly listKeys: {
    readonly keys: readonly {
      readonly keyId: string;
      /** It signs now. */
      readonly isCurrent: boolean;
      /** A time in UTC. */
      readonly createdAt: string;
      readonly retiredAt: string | null;
    }[];
  };
  readonly rotateKey: {
    readonly from: string | null;
    readonly to: string;
  };
  readonly listTokens: {
    readonly tokens: readonly Schemas['Token'][];
    /** For the next page; null: this is the last one. */
    readonly cursor: string | null;
  };
  readonly createToken: Schemas['Token'] & {
    readonly token: string;
  };
  readonly revokeToken: Schemas['Token'];
  readonly whoAmI: {
    /** Who: agent:NAME, user:NAME or service:NAME. */
    readonly principal: string;
    readonly tenant: string;
    readonly scopes: readonly ('call' | 'read' | 'approve' | 'skills' | 'policy' | 'secrets' | 'admin')[];
    /** Names the credential in records; it is not a secret. */
    readonly credential: string;
    /** The device that the credential was issued for. */
    readonly device: string | null;
    /** The client or the way in that it was issued for. */
    readonly channel: string | null;
    /** The person who may be asked in the client to approve calls. */
    readonly approver: string | null;
  };
  readonly getDoctor: {
    readonly ok: boolean;
    readonly findings: readonly {
      readonly name: string;
      readonly state: 'ok' | 'warning' | 'problem';
      readonly detail: string;
      readonly remedy: string | null;
    }[];
    readonly tiers: readonly {
      /** Null: of both that run commands. */
      readonly tier: 'a' | 'b' | 'c' | null;
      readonly name: string;
      readonly holds: boolean;
      readonly detail: string;
      readonly fix: string | null;
    }[];
  };
};

/** What operations are sent: JSON, or bytes as they are. */
export type Bodies = {
  readonly createCall: {
    readonly tool: string;
    /** What the tool is given; left out: {}. */
    readonly input?: Json | undefined;
    /** A label to find the call by, or a session that the credential has begun (ses_…). */
    readonly run?: string | undefined;
    /** The wall-clock limit asked for. */
    readonly timeoutMs?: number | undefined;
  };
  readonly undoCall: {
    /** Also replaces what was changed after the command. */
    readonly force?: boolean | undefined;
  };
  readonly decideApproval: {
    readonly verdict: 'approved' | 'denied';
    /** Why; it is recorded and shown. */
    readonly note?: string | undefined;
    /** Approves one call, or every identical call of the same run or of any, for `seconds`; left out: one call. */
    readonly lasts?: 'call' | 'run' | 'time' | undefined;
    /** How long an approval lasts; left out: a day. */
    readonly seconds?: number | undefined;
  };
  readonly beginSession: {
    /** What it is for. */
    readonly label?: string | undefined;
  };
  readonly installSkill: Uint8Array | Blob;
  readonly auditSkill: {
    /** A version by Semantic Versioning, as 1.2.0. */
    readonly version?: string | undefined;
    /** Whether its test cases are run as well. */
    readonly withCases?: boolean | undefined;
  };
  readonly approveSkill: {
    /** A version by Semantic Versioning, as 1.2.0. */
    readonly version?: string | undefined;
    /** Why; it is recorded. */
    readonly reason?: string | undefined;
    /** What is not granted. */
    readonly withhold?: readonly string[] | undefined;
    /** Less than it asks for. */
    readonly limits?: {
      readonly wallMs?: number | undefined;
      readonly fuel?: number | undefined;
      readonly memoryBytes?: number | undefined;
    } | undefined;
    /** The values that it asks the operator for; what is left out is kept from the version before. */
    readonly config?: { readonly [key: string]: string } | undefined;
    /** The approver has read the warnings of the audit. */
    readonly acceptFindings?: boolean | undefined;
    /** Whether it is switched on at once. */
    readonly enable?: boolean | undefined;
    /** What the approver was shown; a skill that was changed since is not approved. */
    readonly asShown?: {
      readonly artifact: string;
      /** A time in UTC. */
      readonly changedAt: string;
    } | undefined;
  };
  readonly rollbackSkill: {
    /** Why; it is recorded. */
    readonly reason?: string | undefined;
  };
  readonly quarantineSkill: {
    /** Left out: the one that runs, else the one that fits. */
    readonly version?: string | undefined;
    /** Why; it is recorded. */
    readonly reason?: string | undefined;
  };
  readonly enableSkill: {
    /** Left out: the one that runs, else the one that fits. */
    readonly version?: string | undefined;
    /** Why; it is recorded. */
    readonly reason?: string | undefined;
  };
  readonly disableSkill: {
    /** Left out: the one that runs, else the one that fits. */
    readonly version?: string | undefined;
    /** Why; it is recorded. */
    readonly reason?: string | undefined;
  };
  readonly revokeSkill: {
    /** Left out: the one that runs, else the one that fits. */
    readonly version?: string | undefined;
    /** Why; it is recorded. */
    readonly reason?: string | undefined;
  };
  readonly trustKey: {
    /** The name of a publisher, as in skill.toml. */
    readonly publisher: string;
    /** The text of the public key document that `palisade skill sign --new-key` writes. */
    readonly key: string;
    /** When it ends; left out: never. */
    readonly expiresAt?: string | undefined;
  };
  readonly rotateTrustedKey: {
    /** The text of the public key document that `palisade skill sign --new-key` writes. */
    readonly key: string;
    /** When it ends; left out: never. */
    readonly expiresAt?: string | undefined;
  };
  readonly revokeTrustedKey: {
    readonly keyId: string;
    /** Why; it is recorded. */
    readonly reason: string;
  };
  readonly replacePolicies: {
    /** All policy files; those that are not here are removed. */
    readonly files: { readonly [key: string]: string };
    /** The `filesDigest` that the caller saw. */
    readonly ifDigest: string;
    /** Also where the caller may not administer afterwards. */
    readonly force?: boolean | undefined;
  };
  readonly checkPolicies: {
    /** What to check; left out: the files of the gateway. */
    readonly files?: { readonly [key: string]: string } | undefined;
  };
  readonly explainCall: {
    readonly tool: string;
    /** What the tool would be given; left out: {}. */
    readonly input?: Json | undefined;
    /** Who would call; left out: the caller. */
    readonly principal?: string | undefined;
    readonly run?: string | undefined;
    /** On which device; left out: that of the caller, of others none. */
    readonly device?: string | undefined;
    /** By which client or way in; left out: as for the device. */
    readonly channel?: string | undefined;
    /** In which session; left out: the one that such a call would be in. */
    readonly session?: string | undefined;
    readonly timeoutMs?: number | undefined;
  };
  readonly testPolicies: {
    /** The text of a file of test cases: TOML. */
    readonly cases: string;
    /** What messages call that file. */
    readonly file?: string | undefined;
  };
  readonly setSecret: Uint8Array | Blob;
  readonly publishMessage: Uint8Array | Blob;
  readonly approveUpstream: {
    /** The `offeredDigest` that was shown; nothing else is accepted. */
    readonly digest: string;
  };
  readonly createToken: {
    /** Who the holder of the token is. */
    readonly principal: string;
    /** What it is valid for; no more than the credential that asks. */
    readonly scopes?: readonly ('call' | 'read' | 'approve' | 'skills' | 'policy' | 'secrets' | 'admin')[] | undefined;
    /** When it ends; left out: in 30 days. */
    readonly expiresAt?: string | undefined;
    /** What it is for. */
    readonly label?: string | undefined;
    /** The device of its holder, for policies and sessions. */
    readonly device?: string | undefined;
    /** The client or the way in of its holder, for the same. */
    readonly channel?: string | undefined;
    /** How many sessions of its own it may begin while one may be idle; never for an agent. */
    readonly sessions?: number | undefined;
  };
};

/** The events of the operations that give some. */
export type Events = {
  readonly createCall: Schemas['CallEvent'] | Schemas['ProblemEvent'];
  readonly listenToChannel: Schemas['ChannelEvent'] | Schemas['ProblemEvent'];
  readonly followJournal: Schemas['RecordEvent'] | Schemas['ProblemEvent'];
};

/** The problems of the operations whose problems have members of their own. */
export type Problems = {
  readonly createCall: Schemas['CreateCallProblem'];
  readonly replacePolicies: Schemas['ReplacePoliciesProblem'];
};

/** Where operations are. */
export const ROUTES = {
  createCall: { method: 'POST', path: '/v1/calls' },
  listCalls: { method: 'GET', path: '/v1/calls' },
  getCall: { method: 'GET', path: '/v1/calls/{id}' },
  getCallReceipt: { method: 'GET', path: '/v1/calls/{id}/receipt' },
  getCallOutput: { method: 'GET', path: '/v1/calls/{id}/output' },
  getCallLog: { method: 'GET', path: '/v1/calls/{id}/log' },
  cancelCall: { method: 'POST', path: '/v1/calls/{id}/cancel' },
  getRun: { method: 'GET', path: '/v1/runs/{id}' },
  listUndo: { method: 'GET', path: '/v1/undo' },
  planUndo: { method: 'GET', path: '/v1/undo/{id}' },
  undoCall: { method: 'POST', path: '/v1/undo/{id}' },
  listTools: { method: 'GET', path: '/v1/tools' },
  getTool: { method: 'GET', path: '/v1/tools/{id}' },
  listApprovals: { method: 'GET', path: '/v1/approvals' },
  getApproval: { method: 'GET', path: '/v1/approvals/{id}' },
  decideApproval: { method: 'POST', path: '/v1/approvals/{id}/decision' },
  listSessions: { method: 'GET', path: '/v1/sessions' },
  beginSession: { method: 'POST', path: '/v1/sessions' },
  getSession: { method: 'GET', path: '/v1/sessions/{id}' },
  endSession: { method: 'POST', path: '/v1/sessions/{id}/end' },
  listBudgets: { method: 'GET', path: '/v1/budgets' },
  listSkills: { method: 'GET', path: '/v1/skills' },
  installSkill: { method: 'POST', path: '/v1/skills' },
  getSkill: { method: 'GET', path: '/v1/skills/{id}' },
  removeSkill: { method: 'DELETE', path: '/v1/skills/{id}' },
  getSkillPackage: { method: 'GET', path: '/v1/skills/{id}/package' },
  compareSkill: { method: 'GET', path: '/v1/skills/{id}/diff' },
  auditSkill: { method: 'POST', path: '/v1/skills/{id}/audit' },
  approveSkill: { method: 'POST', path: '/v1/skills/{id}/approve' },
  rollbackSkill: { method: 'POST', path: '/v1/skills/{id}/rollback' },
  quarantineSkill: { method: 'POST', path: '/v1/skills/{id}/quarantine' },
  enableSkill: { method: 'POST', path: '/v1/skills/{id}/enable' },
  disableSkill: { method: 'POST', path: '/v1/skills/{id}/disable' },
  revokeSkill: { method: 'POST', path: '/v1/skills/{id}/revoke' },
  listTrustedKeys: { method: 'GET', path: '/v1/trust' },
  trustKey: { method: 'POST', path: '/v1/trust' },
  rotateTrustedKey: { method: 'POST', path: '/v1/trust/{publisher}/rotate' },
  revokeTrustedKey: { method: 'POST', path: '/v1/trust/{publisher}/revoke' },
  getPolicies: { method: 'GET', path: '/v1/policies' },
  replacePolicies: { method: 'PUT', path: '/v1/policies' },
  checkPolicies: { method: 'POST', path: '/v1/policies/check' },
  explainCall: { method: 'POST', path: '/v1/policies/explain' },
  testPolicies: { method: 'POST', path: '/v1/policies/test' },
  listSecrets: { method: 'GET', path: '/v1/secrets' },
  setSecret: { method: 'PUT', path: '/v1/secrets/{name}' },
  removeSecret: { method: 'DELETE', path: '/v1/secrets/{name}' },
  listStorage: { method: 'GET', path: '/v1/storage' },
  listStorageKeys: { method: 'GET', path: '/v1/storage/{skill}/keys' },
  getStorageValue: { method: 'GET', path: '/v1/storage/{skill}/value' },
  deleteStorage: { method: 'DELETE', path: '/v1/storage/{skill}' },
  listChannels: { method: 'GET', path: '/v1/channels' },
  publishMessage: { method: 'POST', path: '/v1/channels/{channel}/messages' },
  listenToChannel: { method: 'GET', path: '/v1/channels/{channel}/live' },
  searchJournal: { method: 'GET', path: '/v1/journal' },
  followJournal: { method: 'GET', path: '/v1/journal/live' },
  exportJournal: { method: 'GET', path: '/v1/journal/export' },
  getCheckpoint: { method: 'GET', path: '/v1/journal/checkpoint' },
  getRecord: { method: 'GET', path: '/v1/journal/{seq}' },
  proveRecord: { method: 'GET', path: '/v1/journal/{seq}/proof' },
  listUpstreams: { method: 'GET', path: '/v1/upstreams' },
  getUpstream: { method: 'GET', path: '/v1/upstreams/{name}' },
  refreshUpstream: { method: 'POST', path: '/v1/upstreams/{name}/refresh' },
  approveUpstream: { method: 'POST', path: '/v1/upstreams/{name}/approve' },
  listKeys: { method: 'GET', path: '/v1/keys' },
  exportKeys: { method: 'GET', path: '/v1/keys/export' },
  rotateKey: { method: 'POST', path: '/v1/keys/rotate' },
  listTokens: { method: 'GET', path: '/v1/tokens' },
  createToken: { method: 'POST', path: '/v1/tokens' },
  revokeToken: { method: 'DELETE', path: '/v1/tokens/{id}' },
  whoAmI: { method: 'GET', path: '/v1/whoami' },
  getDoctor: { method: 'GET', path: '/v1/doctor' },
  getHealth: { method: 'GET', path: '/healthz' },
  getReadiness: { method: 'GET', path: '/readyz' },
  getMetrics: { method: 'GET', path: '/metrics' },
  getResourceMetadata: { method: 'GET', path: '/.well-known/oauth-protected-resource' },
  getMcpResourceMetadata: { method: 'GET', path: '/.well-known/oauth-protected-resource/mcp' },
  getOpenApi: { method: 'GET', path: '/openapi.json' },
} as const;
