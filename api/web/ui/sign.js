// AWS Signature Version 4, with WebCrypto. https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html

const encoder = new TextEncoder()
const algorithm = { name: 'HMAC', hash: 'SHA-256' }
const signed = 'amz-sdk-invocation-id;host;x-amz-date'
const region = 'us-east-1' // of the ARNs in answers

const hex = bytes => Array.from(new Uint8Array(bytes), b => b.toString(16).padStart(2, '0')).join('')
const hash = async text => hex(await crypto.subtle.digest('SHA-256', encoder.encode(text)))
const hmac = (key, text) => crypto.subtle.sign(algorithm, key, encoder.encode(text))
const importKey = bytes => crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign'])

// signingKey is the key that signs on one day, made of a secret access key. It signs, and no script can read it.
export async function signingKey(secret, date) {
  let key = await importKey(encoder.encode('AWS4' + secret))
  for (const part of [date, region, 'ecs', 'aws4_request']) key = await importKey(await hmac(key, part))
  return key
}

// encode is the percent-encoding of RFC 3986.
const encode = text => encodeURIComponent(text).replace(/[!'()*]/g, c => '%' + c.charCodeAt(0).toString(16).toUpperCase())

// query is the query string of parameters, in the order in which it is signed.
export const query = parameters => Object.entries(parameters)
  .filter(([, value]) => value !== undefined && value !== '')
  .map(([name, value]) => encode(name) + '=' + encode(String(value))).sort().join('&')

// sign returns the headers that prove a request; undefined when the keys of the session are over. now is the time of the host in milliseconds. Each
// request has an id, as those of the AWS SDKs do: a host takes a signature for a replay that it has seen within the same second.
export async function sign({ keyID, keys }, { method, path, search, body = '', now }) {
  const time = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '')
  const date = time.slice(0, 8)
  if (!keys[date]) return undefined
  const scope = `${date}/${region}/ecs/aws4_request`
  const id = crypto.randomUUID()
  const canonical = [method, path, search, `amz-sdk-invocation-id:${id}`, `host:${location.host}`, `x-amz-date:${time}`, '', signed, await hash(body)].join('\n')
  const text = ['AWS4-HMAC-SHA256', time, scope, await hash(canonical)].join('\n')
  return {
    'X-Amz-Date': time,
    'amz-sdk-invocation-id': id,
    Authorization: `AWS4-HMAC-SHA256 Credential=${keyID}/${scope}, SignedHeaders=${signed}, Signature=${hex(await hmac(keys[date], text))}`,
  }
}
