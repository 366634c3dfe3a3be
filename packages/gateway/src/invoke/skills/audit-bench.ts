/** What an audit needs of rooms that its own does not know: the ABI, the world of components, schemas, trust, advisories. */

import type { JsonSchema } from '../../core/tool.ts';
import type { Schemas } from '../../registry/schema.ts';
import type { AuditBench } from '../../skills/audit/bench.ts';
import type { SkillPackage } from '../../skills/package/skill-package.ts';
import { keysOf } from '../../skills/trust/keys.ts';
import { type TrustAsked, trustFor } from '../../skills/trust/trust-for.ts';
import type { TrustVerdict } from '../../skills/trust/verdict.ts';
import type { Reader } from '../../store/transaction.ts';
import {
  ABI_ALLOC,
  ABI_FUNCTIONS,
  ABI_MODULE,
  type AbiFunction,
} from '../../tiers/a-wasm/engine/abi.table.ts';
import { linkToWorld, needOf, worldRow } from '../../tiers/a-wasm/engine/world.ts';
import type { Gateway } from '../gateway.ts';

const ABI: AuditBench['abi'] = {
  module: ABI_MODULE,
  alloc: ABI_ALLOC,
  functions: ABI_FUNCTIONS.map((row) => ({ name: row.name, type: typeOf(row), needs: row.needs })),
};

/** The bench for one package, as the gateway is at this moment. */
export async function auditBench(gateway: Gateway, pkg: SkillPackage): Promise<AuditBench> {
  const { Schemas } = await import('../../registry/schema.ts');
  const schemas = new Schemas();
  return {
    abi: ABI,
    linkComponent: (bytes) => {
      const linked = linkToWorld(bytes);
      return {
        bytes: linked.bytes,
        imports: linked.imports.map((each) => ({ ...each, need: needOfImport(each) })),
      };
    },
    schemaProblem: (schema) => schemaProblem(schemas, schema),
    trust: trustOf(gateway.store, pkg, { nowMs: gateway.clock.nowMs(), use: 'load' }),
    advisories: gateway.skills.terms.advisories(),
    palisade: gateway.version,
  };
}

/** Whether the key of a package may speak for its publisher now. */
export function trustOf(
  reader: Reader,
  { signer, manifest }: Pick<SkillPackage, 'signer' | 'manifest'>,
  asked: Pick<TrustAsked, 'nowMs' | 'use' | 'firstUse'>,
): TrustVerdict {
  const { publisher } = manifest;
  return trustFor(keysOf(reader, publisher), { ...asked, publisher, keyId: signer?.keyId ?? null });
}

type Import = { readonly module: string; readonly name: string };

function needOfImport(each: Import): string | null {
  const row = worldRow(each);
  return row === undefined ? null : needOf(row);
}

function schemaProblem(schemas: Schemas, schema: JsonSchema): string | null {
  try {
    schemas.compile(schema);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function typeOf({ params, result }: AbiFunction): string {
  return `(${params.map(([, type]) => type).join(', ')}) -> ${result ?? '()'}`;
}
