import type { Limits } from '../core/limits.ts';
import type { WasmGrants } from '../core/wasm.ts';

/** What the operator approved, in the places of what was asked: a capability that was withheld keeps its place and is closed. */
export type SkillGrant = {
  readonly wasm: WasmGrants;
  readonly limits: Partial<Pick<Limits, 'wallMs' | 'fuel' | 'memoryBytes'>>;
};
