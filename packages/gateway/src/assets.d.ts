declare module '*.cedar' {
  const text: string;
  export default text;
}
declare module '*.cedarschema' {
  const text: string;
  export default text;
}
