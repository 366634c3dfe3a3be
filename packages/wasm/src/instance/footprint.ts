import type { WasmModule } from '../read/module.ts';
import type { Shapes } from './shape.ts';

// Measured on modules with little but 40,000 of each, rounded up.
const FUNCTION_BYTES = 100;
const IMPORT_BYTES = 250;
const EXPORT_BYTES = 300;
const TYPE_BYTES = 400;
const PRICE_BYTES = 150;
const VALUE_BYTES = 8;
const LETTER_BYTES = 2;

/** How much memory a recipe and V8's tables beside the code take, about: what is small in a file can be large here. */
export function footprintOf(
  { imports, exports, functions }: WasmModule,
  shapes: Shapes,
  { hostFuel }: { readonly hostFuel: Readonly<Record<string, number>> },
): number {
  let bytes = functions.length * FUNCTION_BYTES;
  for (const { module, name } of imports)
    bytes += IMPORT_BYTES + LETTER_BYTES * (module.length + name.length);
  for (const { name } of exports) bytes += EXPORT_BYTES + LETTER_BYTES * name.length;
  for (const { params, results } of shapes.values())
    bytes += TYPE_BYTES + VALUE_BYTES * (params.length + results.length);
  for (const key of Object.keys(hostFuel)) bytes += PRICE_BYTES + LETTER_BYTES * key.length;
  return bytes;
}
