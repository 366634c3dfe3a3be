import type { Usage } from '../../receipt.ts';
import type { Scope } from './parts.ts';

/** Who the gateway takes its caller for. */
export type WhoAmI = {
  readonly principal: string;
  readonly tenant: string;
  readonly scopes: readonly Scope[];
  /** Names the credential in records; it is no secret. */
  readonly credential: string;
  /** The person behind the client who may be asked there. */
  readonly approver: string | null;
};

/** A token as lists show it; its text is nowhere in it. */
export type TokenDocument = {
  readonly id: string;
  readonly state: 'active' | 'expired' | 'revoked';
  readonly principal: string;
  readonly tenant: string;
  readonly scopes: readonly Scope[];
  readonly approver: string | null;
  readonly label: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly expiresAt: string;
  readonly revokedAt: string | null;
  readonly revokedBy: string | null;
};

export type TokenPage = { readonly tokens: readonly TokenDocument[]; readonly cursor: string | null };

/** The only document that ever has the text of a token. */
export type CreatedToken = TokenDocument & { readonly token: string };

export type TokenRequest = {
  /** Who whoever has the token is: `agent:NAME`, `user:NAME` or `service:NAME`. */
  readonly principal: string;
  /** What it is good for; `call` alone unless told. */
  readonly scopes?: readonly Scope[] | undefined;
  /** When it ends; left out: in 30 days. */
  readonly expiresAt?: string | undefined;
  /** The person behind the client, as `user:NAME`. */
  readonly approver?: string | undefined;
  /** What it is for. */
  readonly label?: string | undefined;
};

/** A key that receipts and checkpoints are signed with. */
export type KeyRow = {
  readonly keyId: string;
  /** It signs now. */
  readonly isCurrent: boolean;
  readonly createdAt: string;
  readonly retiredAt: string | null;
};

export type KeyList = { readonly keys: readonly KeyRow[] };

export type RotatedKey = { readonly from: string | null; readonly to: string };

/** A unit that is null is counted and not limited. */
export type BudgetRule = {
  readonly name: string;
  readonly per: 'run' | 'principal' | 'tool' | 'tenant';
  /** The subjects that it is for, with `*`; null: all of them. */
  readonly match: string | null;
  /** Null: for the whole run. */
  readonly windowMs: number | null;
} & { readonly [Unit in keyof Usage]: number | null };

export type BudgetAccount = {
  readonly budget: string;
  /** TENANT, TENANT/PRINCIPAL, TENANT/TOOL or TENANT/RUN. */
  readonly subject: string;
  readonly windowStartMs: number;
  readonly resetsAtMs: number | null;
  readonly units: readonly {
    readonly unit: keyof Usage;
    readonly spent: number;
    /** By calls that run. */
    readonly reserved: number;
    readonly limit: number | null;
    readonly left: number | null;
  }[];
};

export type Budgets = { readonly rules: readonly BudgetRule[]; readonly accounts: readonly BudgetAccount[] };

/** What was looked at, and what to do about it. */
export type Finding = {
  readonly name: string;
  readonly state: 'ok' | 'warning' | 'problem';
  readonly detail: string;
  readonly remedy: string | null;
};

export type DoctorReport = {
  /** False where there is a problem. */
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  readonly tiers: readonly {
    /** Null: of both that run commands. */
    readonly tier: 'a' | 'b' | 'c' | null;
    readonly name: string;
    readonly holds: boolean;
    readonly detail: string;
    readonly fix: string | null;
  }[];
};
