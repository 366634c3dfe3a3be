import { mkdirSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { Channels } from '../../src/channels/channels.ts';
import { SocketCarrier } from '../../src/channels/socket-carrier.ts';
import { Presence } from '../../src/store/presence.ts';
import { tempDir } from '../fixture/temp-dir.ts';

export type Joined = {
  readonly channels: Channels;
  readonly id: string;
  readonly leave: () => Promise<void>;
};

/** A state directory whose channels any number of processes join; here each is one in this process. */
export function stateDir(parts = ''): string {
  const path = `${tempDir()}${parts}`;
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}

/** What a process of that state directory has; it leaves with the test at the latest. */
export function joinState(directory: string, id: string): Joined {
  const presence = new Presence(directory, id);
  const channels = new Channels((listener) => new SocketCarrier({ directory, presence }, listener));
  let isOpen = true;
  const leave = async () => {
    if (!isOpen) return;
    isOpen = false;
    await channels.close();
    presence.close();
  };
  onTestFinished(leave);
  return { channels, id, leave };
}
