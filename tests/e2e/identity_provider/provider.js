// An OpenID provider on a free port of loopback: two clients, one resource, JWT access tokens signed
// with the algorithm named on the command line. Prints its issuer when it listens.
import { createServer } from 'node:http';
import { generateKeyPairSync } from 'node:crypto';
import Provider from 'oidc-provider';

const [algorithm, audience, secret] = process.argv.slice(2);
const KEYS = {
  RS256: ['rsa', { modulusLength: 2048 }],
  PS256: ['rsa', { modulusLength: 2048 }],
  ES256: ['ec', { namedCurve: 'P-256' }],
  EdDSA: ['ed25519', {}],
};

function jwk(alg) {
  const { privateKey } = generateKeyPairSync(...KEYS[alg]);
  return { ...privateKey.export({ format: 'jwk' }), alg, use: 'sig', kid: `${alg}-key` };
}

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    // Every algorithm has a key, as many providers have; the tokens are signed with one of them.
    jwks: { keys: Object.keys(KEYS).map(jwk) },
    enabledJWA: { idTokenSigningAlgValues: Object.keys(KEYS) },
    clients: [{
      client_id: 'ingestion',
      client_secret: secret,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    }, {
      // People, who come back to the pages; a public client, held to PKCE.
      client_id: 'pages',
      token_endpoint_auth_method: 'none',
      redirect_uris: ['https://catalog.example/sign-in/return'],
    }],
    features: {
      devInteractions: { enabled: true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        useGrantedResource: () => true,
        getResourceServerInfo: (context, resource) => ({
          scope: 'reader editor',
          audience: resource,
          accessTokenTTL: 600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: algorithm } },
        }),
      },
    },
    extraTokenClaims: () => ({ realm_access: { roles: ['editor'] } }),
  });
  server.on('request', provider.callback());
  console.log(issuer);
});
