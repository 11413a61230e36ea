// Shows the document beside this page; nothing is asked of any other server.
SwaggerUIBundle({
  url: "/docs/openapi.json",
  dom_id: "#ui",
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: -1,
  filter: true,
  persistAuthorization: false,
  validatorUrl: null,
});
