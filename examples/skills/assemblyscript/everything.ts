/* Asks every function that there is, and tells what it was answered: {"url":"http://…"} is where it sends its request. */
import {
  ABSENT,
  ANY,
  asText,
  bytesOf,
  CHANNEL,
  Channel,
  config,
  countOf,
  DEBUG,
  ERROR,
  fail,
  HTTP,
  handleOf,
  INFO,
  Json,
  log,
  nowMs,
  Request,
  randomBytes,
  run,
  SECRET,
  Secret,
  STORAGE,
  Storage,
  textOf,
  WARNING,
} from '@palisade/guest/assembly';

export { palisade_alloc } from '@palisade/guest/assembly';

export function everything(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const url = asText(input.get('url'));
    if (url === null) return fail('wrong-input', 'expected a url');
    return Json.object()
      .set('capabilities', capabilities())
      .set('channel', talk())
      .set('request', request(url))
      .set('secrets', secrets())
      .set('storage', keep())
      .set('surroundings', surroundings());
  });
}

function capabilities(): Json {
  const kinds = [HTTP, SECRET, STORAGE, CHANNEL];
  const counts = Json.list();
  for (let at = 0; at < kinds.length; at += 1) counts.add(Json.number(countOf(kinds[at])));
  return Json.object()
    .set('counts', counts)
    .setNumber('first', handleOf(STORAGE, 0))
    .setNumber('none', handleOf(STORAGE, 9))
    .setNumber('wrong', handleOf(9, 0));
}

function talk(): Json {
  const channel = new Channel();
  const told = Json.object().setNumber('published', channel.publishText('good news'));
  const first = channel.receive(1_000);
  if (first.ok) {
    told.setText('text', first.value.text).setNumber('missed', first.value.missed);
    const skill = first.value.skill;
    if (skill !== null) told.setText('skill', skill);
  }
  return told.setNumber('second', channel.receive(1).error);
}

function request(url: string): Json {
  const sent = new Request('POST', url)
    .header('x-note', 'a "note"')
    .secret(new Secret(), 'authorization', 'Bearer {}')
    .body(bytesOf('the body: ü'))
    .send();
  const told = Json.object().setNumber('error', sent.error);
  if (sent.ok) {
    const type = sent.value.header('content-type');
    told.setText('body', sent.value.text).setNumber('status', sent.value.status);
    told.setText('type', type === null ? '' : type).setText('url', sent.value.url);
  }
  return told.setNumber('elsewhere', new Request('GET', 'http://192.0.2.1/').send().error);
}

function secrets(): Json {
  const shown = new Secret(1).read();
  return Json.object()
    .setNumber('hidden', new Secret(0).read().error)
    .setText('shown', shown.ok ? textOf(shown.value) : '');
}

function keep(): Json {
  const storage = new Storage();
  const told = Json.list();
  const tell = told.add(Json.number(storage.putText('notes/a', 'one', ABSENT)));
  tell.add(Json.number(storage.putText('notes/a', 'two', ABSENT)));
  const first = storage.get('notes/a').value;
  tell.add(Json.text(first.text));
  tell.add(Json.number(storage.putText('notes/a', 'three', first.version)));
  tell.add(Json.number(storage.putText('notes/a', 'four', first.version)));
  tell.add(Json.number(storage.put('notes/b/ü', bytesOf('five'), ANY)));
  const keys = storage.list('notes/', '', 10).value;
  for (let at = 0; at < keys.length; at += 1) tell.add(Json.text(keys[at]));
  tell.add(Json.number(storage.list('notes/', 'notes/a', 10).value.length));
  tell.add(Json.number(storage.list('others/').error));
  tell.add(Json.number(storage.remove('notes/a', first.version)));
  tell.add(Json.number(storage.remove('notes/a', storage.get('notes/a').value.version)));
  tell.add(Json.number(storage.remove('notes/b/ü')));
  tell.add(Json.number(storage.get('notes/a').error));
  return tell.add(Json.number(storage.putText('notes/../x', 'six')));
}

function surroundings(): Json {
  log(DEBUG, 'at debug');
  log(INFO, 'at info: ü');
  log(WARNING, 'at warning');
  log(ERROR, 'at error');
  const random = Json.list();
  const bytes = randomBytes(8);
  for (let at = 0; at < bytes.length; at += 1) random.add(Json.number(bytes[at]));
  const units = config('units');
  return Json.object()
    .setText('config', units === null ? '' : units)
    .setBool('hasOther', config('other') !== null)
    .setNumber('now', nowMs())
    .set('random', random);
}
