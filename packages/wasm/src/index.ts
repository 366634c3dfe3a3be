export { callLifted, type LiftedExport } from './component/canonical/call-lifted.ts';
export type { Layout } from './component/canonical/codec.ts';
export { layoutOf } from './component/canonical/codec-of.ts';
export { loweredHost, type WorldHost } from './component/canonical/lowered-host.ts';
export type { Tagged } from './component/canonical/variant-form.ts';
export { isComponent, type LinkedComponent, linkComponent } from './component/link-component.ts';
export type { WitFunction, WitType, World, WorldImport } from './component/types.ts';
export { type Usage, WasmError, type WasmErrorCode } from './error.ts';
export { FEATURES, type FeatureName, isSupported } from './features.table.ts';
export { type Facts, inspect } from './inspect.ts';
export type {
  CallOptions,
  CallResult,
} from './instance/call.ts';
export type { Occupancy } from './instance/capacity.ts';
export type { CompiledModule } from './instance/compile.ts';
export { FORMAT_VERSION } from './instance/disk-form.ts';
export { type CompileOptions, createEngine, type Engine, type EngineOptions } from './instance/engine.ts';
export type { BytesExports, BytesOptions, BytesResult } from './instance/exchange.ts';
export type { Guest } from './instance/guest.ts';
export { type HostFunction, type HostTable, hostFunction, hostTable } from './instance/host.ts';
export type { Instance, InstanceOptions } from './instance/instantiate.ts';
export type { Pool, PoolOptions } from './instance/pool.ts';
export type { ModuleExport, ModuleImport } from './instance/recipe.ts';
export { threadStackBytes } from './instance/stack.ts';
export type { GuestValue, NumberType } from './instance/value.ts';
export { CEILINGS, DEFAULT_LIMITS, type Limits, narrowLimits } from './limits.ts';
export { METER_VERSION, type Metered, type MeterOptions, meter } from './meter/meter.ts';
export type { Form } from './meter/plan.ts';
export { functionNames } from './read/names.ts';
export {
  hasSourcePlaces,
  type SourcePlace,
  sourcePlaces,
  withoutSourcePlaces,
  withSourceMap,
} from './read/source-places.ts';
