/** `danger` acts by itself or hides something; `notice` takes a person's action. */
export type Severity = 'danger' | 'notice';

/** What a run may leave behind that harms a person later, and what happens then. */
export const FINDINGS = {
  setuid: danger('A user who starts it runs it with the rights of its owner.'),
  setgid: danger('A user who starts it runs it with the rights of its group.'),
  'setgid-directory': notice('New files in it get its group, not that of their maker.'),
  socket: danger('A program that connects to it talks to the process that listens there.'),
  fifo: danger('A program that opens it without care waits for ever.'),
  device: danger('A program that opens it reaches a device of this machine.'),
  'unknown-kind': danger('It is nothing that a workspace should have.'),
  'link-outside': danger('A program that follows it reads or writes outside the workspace.'),
  'link-loop': notice('It leads to itself; a program that follows links by itself may not end.'),
  'link-unseen': danger('It leads through a part of the workspace that was not looked at.'),
  'link-unjudged': danger(
    'There are too many links, or too long ones, to tell where it leads or what leads to it.',
  ),
  'hard-link-outside': danger(
    'The same file has a name outside what was looked at; a change here is a change there.',
  ),
  'control-name': danger(
    'Its name has control characters; printed as it is, it can act on a terminal or split a line.',
  ),
  'disguised-name': notice(
    'Its name has invisible characters, outer spaces or invalid text and may look like another one.',
  ),
  unseen: danger('It was not looked at, so nothing is known about what is in it.'),
  mount: notice('Something is mounted there; it was not looked at.'),
  'set-aside': danger('It would run by itself later.'),
  'runs-later': danger('It runs by itself later, and was left.'),
  'not-held': danger('It would run by itself later, and could not be set aside.'),
} as const;

export type FindingWhy = keyof typeof FINDINGS;

type Row = { readonly severity: Severity; readonly sentence: string };

function danger(sentence: string): Row {
  return { severity: 'danger', sentence };
}

function notice(sentence: string): Row {
  return { severity: 'notice', sentence };
}
