import type { Json } from './parts.ts';

export type Policy = {
  readonly id: string;
  readonly file: string;
  readonly effect: 'permit' | 'forbid';
  readonly text: string;
};

export type PolicyProblem = {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly policy: string | null;
  readonly message: string;
  readonly hint: string | null;
};

/** Policy files: name and text. */
export type PolicyFiles = Readonly<Record<string, string>>;

/** The set that decides, and the files as they are; the two differ while the files have problems. */
export type PoliciesDocument = {
  /** Of the set that decides; null: there is none, and all is denied. */
  readonly digest: string | null;
  readonly policies: readonly Policy[];
  /** Why the files are not the set that decides; empty where they are. */
  readonly problems: readonly PolicyProblem[];
  readonly files: PolicyFiles;
  /** Of those files: what `ifDigest` has to be. */
  readonly filesDigest: string;
};

export type ReplacedPolicies = PoliciesDocument & { readonly warnings: readonly PolicyProblem[] };

export type ReplacePoliciesRequest = {
  /** All policy files; those that are not here are removed. */
  readonly files: PolicyFiles;
  /** The `filesDigest` that the caller saw. */
  readonly ifDigest: string;
  /** Also where the caller may not administer afterwards. */
  readonly force?: boolean | undefined;
};

export type CheckPoliciesRequest = {
  /** What to check; left out: the files of the gateway. */
  readonly files?: PolicyFiles | undefined;
};

export type CheckedPolicies = {
  readonly ok: boolean;
  /** Of the set that these files are; null: they are none. */
  readonly digest: string | null;
  readonly problems: readonly PolicyProblem[];
  readonly warnings: readonly PolicyProblem[];
};

export type ExplainRequest = {
  readonly tool: string;
  readonly input?: Json | undefined;
  /** Who would call; left out: the caller. */
  readonly principal?: string | undefined;
  readonly run?: string | undefined;
  readonly timeoutMs?: number | undefined;
};

export type Explanation = {
  readonly principal: string;
  readonly tool: string;
  readonly verdict: 'allow' | 'ask' | 'deny' | 'error';
  readonly setDigest: string | null;
  readonly decidedBy: readonly Policy[];
  readonly errors: readonly { readonly policy: string | null; readonly message: string }[];
  readonly policies: readonly (Policy & {
    readonly matched: boolean;
    readonly parts: readonly {
      readonly kind: 'principal' | 'action' | 'resource' | 'when' | 'unless';
      readonly text: string;
      readonly state: 'holds' | 'differs' | 'fails';
    }[];
  })[];
  readonly approvalWouldHelp: boolean;
  /** What would have to be different for the other answer, in sentences. */
  readonly differences: readonly string[];
  readonly approval: {
    readonly id: string;
    readonly state: 'pending' | 'approved' | 'denied' | 'expired';
  } | null;
};
