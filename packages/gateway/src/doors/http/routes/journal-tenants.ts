import type { RecordRow } from '../../../journal/head.ts';
import type { Asked } from '../route.ts';

type Asking = Pick<Asked, 'gateway' | 'caller'>;

/** Whose records a caller sees: those of its tenant, and where that is the gateway's own, those of the gateway itself. */
export function tenantsOf({ gateway, caller }: Asking): readonly (string | null)[] {
  const { tenant } = caller;
  return tenant === gateway.config.gateway.tenant ? [tenant, null] : [tenant];
}

/** Boundary: a record of another tenant is never shown. */
export function isOfCaller(asking: Asking, { tenant }: RecordRow): boolean {
  return tenantsOf(asking).includes(tenant);
}
