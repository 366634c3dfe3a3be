/* Asks every function that there is, and tells what it was answered: {"url":"http://…"} is where it sends its request. */
#include <palisade.h>

static void tell_capabilities(palisade_writer *output) {
  palisade_put_key(output, palisade_text("capabilities"));
  palisade_open(output, '{');
  palisade_put_key(output, palisade_text("counts"));
  palisade_open(output, '[');
  for (int32_t kind = PALISADE_HTTP; kind <= PALISADE_CHANNEL; kind++)
    palisade_put_int(output, palisade_count(kind));
  palisade_close(output, ']');
  palisade_put_int_member(output, "first", palisade_handle(PALISADE_STORAGE, 0));
  palisade_put_int_member(output, "none", palisade_handle(PALISADE_STORAGE, 9));
  palisade_put_int_member(output, "wrong", palisade_handle(9, 0));
  palisade_close(output, '}');
}

static void tell_channel(palisade_writer *output) {
  const int32_t channel = palisade_handle(PALISADE_CHANNEL, 0);
  palisade_put_key(output, palisade_text("channel"));
  palisade_open(output, '{');
  palisade_put_int_member(output, "published", palisade_publish(channel, palisade_text("good news")));
  const palisade_parts first = palisade_receive(channel, 1000);
  if (!first.error) {
    const palisade_json *sender = palisade_get(first.head, palisade_text("sender"));
    palisade_put_text_member(output, "text", first.body);
    palisade_put_key(output, palisade_text("missed"));
    palisade_put_json(output, palisade_get(first.head, palisade_text("missed")));
    palisade_put_key(output, palisade_text("skill"));
    palisade_put_json(output, palisade_get(sender, palisade_text("skill")));
  }
  palisade_put_int_member(output, "second", palisade_receive(channel, 1).error);
  palisade_close(output, '}');
}

/** The first header of a name in small letters; nothing where there is none. */
static palisade_bytes header_of(const palisade_json *head, palisade_bytes name) {
  const palisade_json *headers = palisade_get(head, palisade_text("headers"));
  for (const palisade_json *pair = headers ? headers->first : NULL; pair; pair = pair->next)
    if (palisade_same(pair->first->text, name)) return pair->first->next->text;
  return palisade_none;
}

static void tell_request(palisade_writer *output, palisade_bytes url) {
  const int32_t http = palisade_handle(PALISADE_HTTP, 0);
  const palisade_header headers[] = {{palisade_text("x-note"), palisade_text("a \"note\"")}};
  const palisade_request request = {
      .method = palisade_text("POST"),
      .url = url,
      .headers = headers,
      .header_count = 1,
      .body = palisade_text("the body: ü"),
      .secret = palisade_handle(PALISADE_SECRET, 0),
      .secret_header = palisade_text("authorization"),
      .secret_format = palisade_text("Bearer {}"),
  };
  const palisade_request elsewhere = {.method = palisade_text("GET"), .url = palisade_text("http://192.0.2.1/")};
  const palisade_parts sent = palisade_send(http, &request);
  palisade_put_key(output, palisade_text("request"));
  palisade_open(output, '{');
  palisade_put_int_member(output, "error", sent.error);
  if (!sent.error) {
    palisade_put_text_member(output, "body", sent.body);
    palisade_put_key(output, palisade_text("status"));
    palisade_put_json(output, palisade_get(sent.head, palisade_text("status")));
    palisade_put_text_member(output, "type", header_of(sent.head, palisade_text("content-type")));
    palisade_put_key(output, palisade_text("url"));
    palisade_put_json(output, palisade_get(sent.head, palisade_text("url")));
  }
  palisade_put_int_member(output, "elsewhere", palisade_send(http, &elsewhere).error);
  palisade_close(output, '}');
}

static void tell_secrets(palisade_writer *output) {
  palisade_put_key(output, palisade_text("secrets"));
  palisade_open(output, '{');
  palisade_put_int_member(output, "hidden", palisade_read_secret(palisade_handle(PALISADE_SECRET, 0)).error);
  palisade_put_text_member(output, "shown", palisade_read_secret(palisade_handle(PALISADE_SECRET, 1)).bytes);
  palisade_close(output, '}');
}

static void tell_storage(palisade_writer *output) {
  const int32_t storage = palisade_handle(PALISADE_STORAGE, 0);
  const palisade_bytes a = palisade_text("notes/a"), b = palisade_text("notes/b/ü");
  const palisade_bytes prefix = palisade_text("notes/");
  int32_t error;
  palisade_put_key(output, palisade_text("storage"));
  palisade_open(output, '[');
  palisade_put_int(output, palisade_put_stored(storage, a, palisade_text("one"), palisade_absent));
  palisade_put_int(output, palisade_put_stored(storage, a, palisade_text("two"), palisade_absent));
  const palisade_stored first = palisade_get_stored(storage, a);
  palisade_put_text(output, first.value);
  palisade_put_int(output, palisade_put_stored(storage, a, palisade_text("three"), first.version));
  palisade_put_int(output, palisade_put_stored(storage, a, palisade_text("four"), first.version));
  palisade_put_int(output, palisade_put_stored(storage, b, palisade_text("five"), palisade_any));
  const palisade_json *keys = palisade_list_stored(storage, prefix, palisade_none, 10, &error);
  for (const palisade_json *key = keys->first; key; key = key->next) palisade_put_text(output, key->text);
  palisade_put_int(output, palisade_list_stored(storage, prefix, a, 10, &error)->size);
  palisade_list_stored(storage, palisade_text("others/"), palisade_none, 1000, &error);
  palisade_put_int(output, error);
  palisade_put_int(output, palisade_delete_stored(storage, a, first.version));
  palisade_put_int(output, palisade_delete_stored(storage, a, palisade_get_stored(storage, a).version));
  palisade_put_int(output, palisade_delete_stored(storage, b, palisade_any));
  palisade_put_int(output, palisade_get_stored(storage, a).error);
  palisade_put_int(output, palisade_put_stored(storage, palisade_text("notes/../x"), palisade_text("six"), palisade_any));
  palisade_close(output, ']');
}

static void tell_surroundings(palisade_writer *output) {
  uint8_t random[8];
  palisade_log(PALISADE_DEBUG, palisade_text("at debug"));
  palisade_log(PALISADE_INFO, palisade_text("at info: ü"));
  palisade_log(PALISADE_WARNING, palisade_text("at warning"));
  palisade_log(PALISADE_ERROR, palisade_text("at error"));
  palisade_random(random, sizeof random);
  palisade_put_key(output, palisade_text("surroundings"));
  palisade_open(output, '{');
  palisade_put_text_member(output, "config", palisade_config(palisade_text("units")).bytes);
  palisade_put_bool_member(output, "hasOther", !palisade_config(palisade_text("other")).error);
  palisade_put_key(output, palisade_text("now"));
  palisade_put_number(output, palisade_now_ms());
  palisade_put_key(output, palisade_text("random"));
  palisade_open(output, '[');
  for (uint32_t at = 0; at < sizeof random; at++) palisade_put_int(output, random[at]);
  palisade_close(output, ']');
  palisade_close(output, '}');
}

PALISADE_TOOL(everything) {
  const palisade_json *url = palisade_get(input, palisade_text("url"));
  if (!palisade_is(url, PALISADE_TEXT))
    return palisade_fail(palisade_text("wrong-input"), palisade_text("expected a url"));
  palisade_writer output = palisade_write();
  palisade_open(&output, '{');
  tell_capabilities(&output);
  tell_channel(&output);
  tell_request(&output, url->text);
  tell_secrets(&output);
  tell_storage(&output);
  tell_surroundings(&output);
  palisade_close(&output, '}');
  return palisade_written(&output);
}
