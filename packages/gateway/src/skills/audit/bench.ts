import type { JsonSchema } from '../../core/tool.ts';
import type { TrustVerdict } from '../trust/verdict.ts';
import type { Advisory } from './advisories.ts';

/** What an audit needs and this room does not know: the ABI, the world of components, schemas, trust and advisories. */
export type AuditBench = {
  readonly abi: {
    /** The module that host functions are imported from. */
    readonly module: string;
    /** The export that gives a place for bytes. */
    readonly alloc: string;
    /** Types are written like `(i32, i32) -> i64`; `needs` is the capability that a function wants, if it wants one. */
    readonly functions: readonly {
      readonly name: string;
      readonly type: string;
      readonly needs: string | null;
    }[];
  };
  /** Makes one core module of a component that keeps to the world. Throws a WasmError for any other. */
  readonly linkComponent: (bytes: Uint8Array) => {
    readonly bytes: Uint8Array;
    readonly imports: readonly {
      readonly module: string;
      readonly name: string;
      readonly need: string | null;
    }[];
  };
  /** Why a schema cannot be used; null when it can. */
  readonly schemaProblem: (schema: JsonSchema) => string | null;
  readonly trust: TrustVerdict;
  readonly advisories: readonly Advisory[];
  /** The version that audits. */
  readonly palisade: string;
};
