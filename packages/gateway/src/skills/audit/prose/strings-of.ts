import type { Json } from '../../../core/json.ts';

/** The texts of a schema, its keys included, up to so many: a model is shown all of them. */
export function stringsOf(schema: Json, most: number): readonly string[] {
  const found: string[] = [];
  const open: Json[] = [schema];
  for (let value = open.pop(); value !== undefined && found.length < most; value = open.pop()) {
    if (typeof value === 'string') found.push(value);
    else if (Array.isArray(value)) open.push(...value);
    else if (typeof value === 'object' && value !== null)
      for (const [key, each] of Object.entries(value)) {
        found.push(key);
        open.push(each);
      }
  }
  return found;
}
