import { Json, JsonBool, JsonList, JsonNumber, JsonObject, JsonText } from '@palisade/guest/assembly';

/** What JSON calls a value. */
export function kindOf(value: Json): string {
  if (value instanceof JsonObject) return 'object';
  if (value instanceof JsonList) return 'array';
  if (value instanceof JsonText) return 'string';
  if (value instanceof JsonNumber) return 'number';
  return value instanceof JsonBool ? 'boolean' : 'null';
}
