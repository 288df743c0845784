// AWS Signature Version 4, with WebCrypto. https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html

const encoder = new TextEncoder()
const algorithm = { name: 'HMAC', hash: 'SHA-256' }

const hex = bytes => Array.from(new Uint8Array(bytes), b => b.toString(16).padStart(2, '0')).join('')
const hash = async text => hex(await crypto.subtle.digest('SHA-256', encoder.encode(text)))
const hmac = (key, text) => crypto.subtle.sign(algorithm, key, encoder.encode(text))
const importKey = bytes => crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign'])

// secretKey is the secret of an access key in a form in which it signs, and no script can read it.
export const secretKey = secret => importKey(encoder.encode('AWS4' + secret))

// encode is the percent-encoding of RFC 3986.
const encode = text => encodeURIComponent(text).replace(/[!'()*]/g, c => '%' + c.charCodeAt(0).toString(16).toUpperCase())

// query is the query string of parameters, in the order in which it is signed.
export const query = parameters => Object.entries(parameters)
  .filter(([, value]) => value !== undefined && value !== '')
  .map(([name, value]) => encode(name) + '=' + encode(String(value))).sort().join('&')

// sign returns the headers that prove a request. now is the time of the host in milliseconds.
export async function sign({ keyID, key, region = 'us-east-1' }, { method, path, search, body = '', now }) {
  const time = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '')
  const scope = `${time.slice(0, 8)}/${region}/ecs/aws4_request`
  const canonical = [method, path, search, `host:${location.host}`, `x-amz-date:${time}`, '', 'host;x-amz-date', await hash(body)].join('\n')
  const text = ['AWS4-HMAC-SHA256', time, scope, await hash(canonical)].join('\n')
  let signing = key
  for (const part of scope.split('/')) signing = await importKey(await hmac(signing, part))
  return {
    'X-Amz-Date': time,
    Authorization: `AWS4-HMAC-SHA256 Credential=${keyID}/${scope}, SignedHeaders=host;x-amz-date, Signature=${hex(await hmac(signing, text))}`,
  }
}
