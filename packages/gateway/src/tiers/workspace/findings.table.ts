/** `danger` acts by itself or hides something; `notice` takes a person's action. */
export type Severity = 'danger' | 'notice';

/** What a run may leave behind that harms a person later, and what happens then. */
export const FINDINGS = {
  setuid: {
    severity: 'danger',
    sentence: 'A user who starts it runs it with the rights of its owner.',
  },
  setgid: {
    severity: 'danger',
    sentence: 'A user who starts it runs it with the rights of its group.',
  },
  'setgid-directory': {
    severity: 'notice',
    sentence: 'New files in it get its group, not that of their maker.',
  },
  socket: {
    severity: 'danger',
    sentence: 'A program that connects to it talks to the process that listens there.',
  },
  fifo: {
    severity: 'danger',
    sentence: 'A program that opens it without care waits for ever.',
  },
  device: {
    severity: 'danger',
    sentence: 'A program that opens it reaches a device of this machine.',
  },
  'unknown-kind': {
    severity: 'danger',
    sentence: 'It is nothing that a workspace should have.',
  },
  'link-outside': {
    severity: 'danger',
    sentence: 'A program that follows it reads or writes outside the workspace.',
  },
  'link-loop': {
    severity: 'notice',
    sentence: 'It leads to itself; a program that follows links by itself may not end.',
  },
  'link-unseen': {
    severity: 'danger',
    sentence: 'It leads through a part of the workspace that was not looked at.',
  },
  'link-unjudged': {
    severity: 'danger',
    sentence: 'There are too many links, or too long ones, to tell where it leads or what leads to it.',
  },
  'hard-link-outside': {
    severity: 'danger',
    sentence: 'The same file has a name outside what was looked at; a change here is a change there.',
  },
  'control-name': {
    severity: 'danger',
    sentence: 'Its name has control characters; printed as it is, it can act on a terminal or split a line.',
  },
  'disguised-name': {
    severity: 'notice',
    sentence:
      'Its name has invisible characters, outer spaces or invalid text and may look like another one.',
  },
  unseen: {
    severity: 'danger',
    sentence: 'It was not looked at, so nothing is known about what is in it.',
  },
  mount: {
    severity: 'notice',
    sentence: 'Something is mounted there; it was not looked at.',
  },
  'runs-later': {
    severity: 'notice',
    sentence: 'A tool executes or trusts it later.',
  },
} as const satisfies Record<string, { severity: Severity; sentence: string }>;

export type FindingWhy = keyof typeof FINDINGS;
