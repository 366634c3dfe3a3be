import { toUtf8 } from '../../bytes.ts';
import { type PageAsked, pagesOf } from '../pages.ts';
import { PalisadeError } from '../palisade-error.ts';
import { EVENTS_TYPE, type RequestOptions, type Sender } from '../send.ts';
import { readEvents } from '../server-events.ts';
import type { ChannelMessage, StorageEntry, StorageKeyPage, StoragePage, StorageSpace } from '../wire.ts';

export type StorageAsked = PageAsked & {
  readonly tenant?: string | undefined;
  readonly skill?: string | undefined;
};
/** Keys at and beneath a prefix, as `notes/`; left out: all. */
export type StorageKeysAsked = PageAsked & { readonly prefix?: string | undefined };

/** What is deleted of a space: exactly one of these. */
export type StorageDeletion = {
  readonly key?: string | undefined;
  readonly prefix?: string | undefined;
  readonly all?: true | undefined;
};

/** What skills have stored for the tenant. */
export function makeStorage(send: Sender) {
  return {
    ...pagesOf<StorageAsked, StoragePage, StorageSpace>(
      (query, options) => send.json('listStorage', { query, options }),
      ({ spaces }) => spaces,
    ),
    /** The keys of a skill, with the sizes of their values. */
    keys: (skill: string) =>
      pagesOf<StorageKeysAsked, StorageKeyPage, StorageEntry>(
        (query, options) => send.json('listStorageKeys', { params: { skill }, query, options }),
        ({ keys }) => keys,
      ),
    /** The value of a key, cut where it is long. */
    value: (skill: string, key: string, options?: RequestOptions) =>
      send.json('getStorageValue', { params: { skill }, query: { key }, options }),
    delete: (skill: string, query: StorageDeletion, options?: RequestOptions) =>
      send.json('deleteStorage', { params: { skill }, query, options }),
  };
}

/** The channels on which skills of the tenant send messages to each other. */
export function makeChannels(send: Sender) {
  return {
    /** Those that have subscribers now. */
    list: (options?: RequestOptions) => send.json('listChannels', { options }),
    /** Publishes a message, to the byte, and tells who got it. */
    publish: (channel: string, message: string | Uint8Array, options?: RequestOptions) => {
      const body = typeof message === 'string' ? toUtf8(message) : message;
      return send.json('publishMessage', { params: { channel }, body, options });
    },
    /** Messages from now on, until the reader stops. A connection that ends is an error: messages may have been missed. */
    listen: (channel: string, options?: ListenOptions) => listenTo(send, channel, options),
  };
}

export type ListenOptions = RequestOptions & {
  /** Called when messages are heard: what is published from then on arrives. */
  readonly onListening?: (() => void) | undefined;
};

async function* listenTo(
  send: Sender,
  channel: string,
  options: ListenOptions = {},
): AsyncGenerator<ChannelMessage, void, undefined> {
  const reply = await send.open('listenToChannel', { params: { channel }, options }, EVENTS_TYPE);
  try {
    for await (const { event, data } of readEvents(reply)) {
      if (event === 'listening') options.onListening?.();
      else if (event === 'message') yield data as ChannelMessage;
    }
    const detail = `Cannot listen to the channel "${channel}": the gateway ended the stream`;
    throw new PalisadeError({ code: 'client/unreachable', detail });
  } finally {
    reply.close();
  }
}
