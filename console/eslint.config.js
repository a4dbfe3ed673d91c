import js from "@eslint/js";
import hooks from "eslint-plugin-react-hooks";
import typescript from "typescript-eslint";

export default typescript.config(
  { ignores: ["dist/**", "graphql/generated/**"] },
  {
    files: ["**/*.{ts,tsx}"],
    extends: [js.configs.recommended, ...typescript.configs.strictTypeChecked],
    plugins: { "react-hooks": hooks },
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      ...hooks.configs.recommended.rules,
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: false }],
      // The compiler that this is for is not used.
      "react-hooks/incompatible-library": "off",
      "no-restricted-properties": [
        "error",
        { property: "invalidateQueries", message: "readAgain also sees to what is read first." },
      ],
      "max-lines": ["error", 450],
    },
  },
);
