import { Answer, answerOf, headLengthOf, INVALID } from './answer';
import { bytesOf, textOf } from './bytes';
import { CHANNEL, handleOf } from './capabilities';
import { asNumber, asText, Json } from './json';
import { readJson } from './json-reader';
import * as host from './palisade_v1';

/** A message, and who sent it as the gateway knows them. */
export class Message {
  /** `principal`, `skill`: who called, and of whose tool. */
  readonly sender: Json;
  /** How many messages before this one found the queue full. */
  readonly missed: i32;
  readonly body: Uint8Array;

  constructor(sender: Json, missed: i32, body: Uint8Array) {
    this.sender = sender;
    this.missed = missed;
    this.body = body;
  }

  /** The body in UTF-8. */
  get text(): string {
    return textOf(this.body);
  }

  get skill(): string | null {
    return asText(this.sender.get('skill'));
  }
}

export class Channel {
  readonly handle: i32;

  constructor(index: i32 = 0) {
    this.handle = handleOf(CHANNEL, index);
  }

  /** Gives 0 or an error. */
  publish(message: Uint8Array): i32 {
    return host.channel_publish(this.handle, message.dataStart, message.length);
  }

  publishText(message: string): i32 {
    return this.publish(bytesOf(message));
  }

  /** The next message, waited for at most so long; MISSING where none came. */
  receive(waitMs: i32): Answer<Message> {
    const answer = answerOf(host.channel_receive(this.handle, waitMs));
    if (!answer.ok) return new Answer<Message>(answer.error, null);
    const bytes = answer.value;
    const headLength = headLengthOf(bytes);
    const head = readJson(bytes.dataStart + 4, headLength);
    if (head === null) return new Answer<Message>(INVALID, null);
    const sender = head.get('sender');
    if (sender === null) return new Answer<Message>(INVALID, null);
    const missed = asNumber(head.get('missed')) as i32;
    return new Answer(0, new Message(sender, missed, bytes.subarray(4 + headLength)));
  }
}
