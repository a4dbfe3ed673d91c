import { expect, test } from "vitest";
import { CONNECTION_LOST, Failure, failureOf, payloadOf } from "../app/failure";

test("a payload is given back, a refusal is thrown with its code and page", () => {
  expect(payloadOf({ __typename: "DonePayload" })).toEqual({ __typename: "DonePayload" });
  const refusal = {
    __typename: "VersionConflict",
    message: "Changed.",
    code: "CONFLICT",
    currentVersion: 3,
  };
  let thrown: unknown;
  try {
    payloadOf(refusal);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({
    message: "Changed.",
    code: "CONFLICT",
    currentVersion: 3,
    docUrl: "/errors/CONFLICT",
  });
});

test("a failure may be tried again unless the server says that this cannot help", () => {
  expect(new Failure("busy", "RATE_LIMITED", { retryable: true }).isRetryable).toBe(true);
  expect(new Failure("wrong", "BAD_USER_INPUT", { retryable: false }).isRetryable).toBe(false);
  expect(new Failure("gone", CONNECTION_LOST).isRetryable).toBe(true);
});

test("a lost connection has no page, and any error is shown as a failure", () => {
  expect(new Failure("gone", CONNECTION_LOST).docUrl).toBeNull();
  expect(failureOf(new TypeError("odd"))).toMatchObject({ message: "odd", code: "CONSOLE_ERROR" });
});
