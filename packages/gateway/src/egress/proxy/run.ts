import type { SecureContextOptions } from 'node:tls';
import type { AllowList } from '../allowlist.ts';
import type { ResolveOptions } from '../resolve.ts';
import type { BoundSecret } from '../secrets.ts';
import type { Interceptor } from '../tls/interceptor.ts';
import type { CredentialCheck } from './credential.ts';
import type { Ledger } from './ledger.ts';
import type { ProxyLimits } from './proxy-limits.ts';

/** What all connections of one run share. */
export type ProxyRun = {
  readonly list: () => AllowList;
  readonly resolve: Omit<ResolveOptions, 'signal'>;
  readonly isOfRun: CredentialCheck;
  readonly limits: ProxyLimits;
  readonly ledger: Ledger;
  readonly secrets: readonly BoundSecret[];
  readonly interceptor: Interceptor | null;
  /** Who may say who a target is; without, whom Node trusts. */
  readonly trust: SecureContextOptions['ca'];
};
