/* JSON Merge Patch, RFC 7396. */
import { Json, JsonNull, JsonObject } from '@palisade/guest/assembly';

/** The target as the patch wants it: null removes a member, an object goes into one, all else takes the place. */
export function merged(target: Json, patch: Json): Json {
  if (!(patch instanceof JsonObject)) return patch;
  const result = Json.object();
  if (target instanceof JsonObject) keepUntouched(target as JsonObject, patch as JsonObject, result);
  const keys = (patch as JsonObject).keys;
  for (let index = 0; index < keys.length; index += 1) {
    const key = keys[index];
    // It was kept in its old place already.
    if (target.get(key) !== null) continue;
    const change = patch.get(key) as Json;
    if (!(change instanceof JsonNull)) result.set(key, merged(Json.nothing(), change));
  }
  return result;
}

/** Members of the target in their order: changed where the patch names them, gone where it says null. */
function keepUntouched(target: JsonObject, patch: JsonObject, result: JsonObject): void {
  const keys = target.keys;
  for (let index = 0; index < keys.length; index += 1) {
    const key = keys[index];
    const before = target.get(key) as Json;
    const change = patch.get(key);
    if (change === null) result.set(key, before);
    else if (!(change instanceof JsonNull)) result.set(key, merged(before, change));
  }
}
