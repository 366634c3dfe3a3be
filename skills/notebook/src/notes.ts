import {
  ABSENT,
  CONFLICT,
  DENIED,
  FULL,
  fail,
  Json,
  JsonObject,
  MISSING,
  Storage,
  Stored,
  TOO_LARGE,
} from '@palisade/guest/assembly';

/** Where the notes are: the prefix that the manifest asks for. */
const FOLDER: string = 'notes/';
const MOST_TRIES: i32 = 100;
/** As the schema of `put` has it, so that a note that grew can still be read and put. */
const MOST_CHARACTERS: i32 = 16_384;

export class Notebook {
  private readonly storage: Storage = new Storage();

  get(name: string): Json {
    const stored = this.storage.get(FOLDER + name);
    if (!stored.ok) return refused(stored.error, name);
    return told(name, stored.value).setText('text', stored.value.text);
  }

  put(name: string, text: string, version: f64): Json {
    const error = this.storage.putText(FOLDER + name, text, version);
    return error === 0 ? this.written(name, text) : refused(error, name);
  }

  /** Adds to the end of a note, whoever else does the same. */
  append(name: string, text: string): Json {
    for (let left = MOST_TRIES; left > 0; left -= 1) {
      const stored = this.storage.get(FOLDER + name);
      if (!stored.ok && stored.error !== MISSING) return refused(stored.error, name);
      const longer = stored.ok ? stored.value.text + text : text;
      if (longer.length > MOST_CHARACTERS)
        return fail(
          'too-long',
          `the note would have more than ${MOST_CHARACTERS} characters; begin another one`,
        );
      const error = this.storage.putText(FOLDER + name, longer, stored.ok ? stored.value.version : ABSENT);
      if (error === 0) return this.written(name, longer);
      // Another call was faster: read again what it has written.
      if (error !== CONFLICT) return refused(error, name);
    }
    return fail('busy', 'too many others write the same note at the same time');
  }

  list(after: string, limit: i32): Json {
    const keys = this.storage.list(FOLDER, after === '' ? '' : FOLDER + after, limit);
    if (!keys.ok) return refused(keys.error, '');
    const names = Json.list();
    for (let at = 0; at < keys.value.length; at += 1)
      names.add(Json.text(keys.value[at].slice(FOLDER.length)));
    return Json.object()
      .setBool('has_more', keys.value.length === limit)
      .set('names', names);
  }

  remove(name: string, version: f64): Json {
    const stored = this.storage.get(FOLDER + name);
    if (!stored.ok) return refused(stored.error, name);
    // The note that was found and no later one, where no version was named.
    const error = this.storage.remove(FOLDER + name, version < 0 ? stored.value.version : version);
    return error === 0 ? told(name, stored.value) : refused(error, name);
  }

  /** What was written, with the version that it got. */
  private written(name: string, text: string): Json {
    const stored = this.storage.get(FOLDER + name);
    // The same text from another call is the same note; another one has a version that is not ours to tell.
    if (!stored.ok || stored.value.text !== text)
      return fail('overwritten', 'the note was written, and then another call changed it: read it again');
    return told(name, stored.value);
  }
}

function told(name: string, stored: Stored): JsonObject {
  return Json.object().setText('name', name).setNumber('version', stored.version);
}

function refused(error: i32, name: string): Json {
  if (error === MISSING) return fail('not-found', `there is no note "${name}"`);
  if (error === CONFLICT)
    return fail('conflict', 'the note has another version by now: read it again, then decide what to write');
  if (error === FULL) return fail('full', 'the notebook is full: remove notes that are not needed');
  if (error === TOO_LARGE) return fail('too-long', 'the note is too long; make several of it');
  if (error === DENIED) return fail('denied', 'the notebook was granted no storage for this');
  return fail('failed', `the storage answered with the error ${error}`);
}
