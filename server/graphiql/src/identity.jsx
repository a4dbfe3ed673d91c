/** A choice of the callers that the page can act as; the page starts again as the chosen one. */
export function Identity({ session }) {
  if (session.callers.length < 2) return null;
  const choose = async (event) => {
    await session.actAs(event.target.value);
    location.reload();
  };
  return (
    <label className="identity">
      Act as{" "}
      <select defaultValue={session.actsAs} onChange={choose}>
        {session.callers.map(({ userId, roles }) => (
          <option key={userId} value={userId}>
            {roles}
          </option>
        ))}
      </select>
    </label>
  );
}
