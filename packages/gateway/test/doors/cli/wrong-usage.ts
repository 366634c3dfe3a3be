import { CodedError } from '../../../src/core/coded-error.ts';

/** What was read, or the message of the refusal; anything else that is thrown fails the test. */
export function orWrongUsage<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    if (error instanceof CodedError && error.code === 'door/wrong-usage') return error.message;
    throw error;
  }
}
