/** A line that asks for a token; the page starts again with it. */
export function SignIn({ session, wasRefused }) {
  const submit = (event) => {
    event.preventDefault();
    const token = new FormData(event.currentTarget).get("token");
    if (!token.trim()) return;
    session.keep(token);
    location.reload();
  };
  return (
    <form className="sign-in" onSubmit={submit}>
      <p>
        {wasRefused ? "The code in the address was used already, or has expired. " : null}
        {session.url ? (
          <>
            To sign in, open the address that <code>penstock graphiql-url</code> prints, or enter a
            token of <code>penstock token</code>:
          </>
        ) : (
          "To sign in, enter a token:"
        )}
      </p>
      <input name="token" type="password" aria-label="Token" autoComplete="off" />
      <button type="submit">Sign in</button>
    </form>
  );
}
