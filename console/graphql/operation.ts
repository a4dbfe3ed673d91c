/** An operation that the server knows by the digest of its text. */
export interface Operation<Answer, Variables> {
  readonly id: string;
  readonly name: string;
  /** Only for the compiler: the types of the answer and of the variables. */
  readonly types?: { answer: Answer; variables: Variables };
}
