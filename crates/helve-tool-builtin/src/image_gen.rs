//! `image_gen`: a picture from words, by a service that speaks OpenAI's images endpoint.
//!
//! One POST to `{base}/images/generations`; the answer holds the picture, or the address of one, which is fetched as
//! anybody's address is: without the key, and not from where only the service may be reached. The picture leaves here as a file of the call; what it is, its own first bytes say.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use helve_egress::header::{CONTENT_TYPE, HeaderValue};
use helve_egress::{Bounds, Credential, Egress, EgressError, Method, Outgoing, StatusCode, Url, place_of};
use helve_tool::{
    BreakerSettings, CallContext, Guards, LimitSettings, Limits, Request, Tool, ToolError, ToolFuture,
    schema_of,
};
use helve_types::{Effect, Example, Flow, Notice, OnUnknown, OutputFile, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Settings;

/// The name that the key goes by.
pub const IMAGES_SECRET: &str = "images";

const REASON_CHARS_MAX: usize = 300;
/// A picture of the largest size that is kept, as base64 in JSON.
const ANSWER: Bounds =
    Bounds { bytes_max: 15 << 20, silence: Duration::from_secs(110), total: Duration::from_secs(115) };
const PICTURE: Bounds =
    Bounds { bytes_max: 10 << 20, silence: Duration::from_secs(20), total: Duration::from_secs(60) };

/// Where pictures are made.
#[derive(Debug, Clone)]
pub struct Images {
    /// The address before `/images/generations`, as in `https://api.openai.com/v1`.
    pub base_url: Url,
    pub model: String,
    /// Whether the service wants a key; it is the secret `images`.
    pub has_key: bool,
    /// Asked for only if it is set: newer models refuse it and send the picture itself.
    pub response_format: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What is to be seen, in a few sentences.
    #[schemars(length(min = 1, max = 4000))]
    prompt: String,
    /// Width and height in pixels, such as `1024x1024` or `1024x1536`; the service's own if left out.
    #[schemars(length(max = 20))]
    size: Option<String>,
}

#[derive(Debug, Serialize)]
struct ImageRequest<'a> {
    model: &'a str,
    prompt: &'a str,
    n: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<&'a str>,
}

#[derive(Debug, Deserialize)]
struct ImageAnswer {
    data: Vec<Picture>,
}

#[derive(Debug, Deserialize)]
struct Picture {
    #[serde(default)]
    b64_json: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    revised_prompt: Option<String>,
}

struct ImageGen {
    spec: ToolSpec,
    /// To the service.
    service: Egress,
    /// To wherever the service points.
    egress: Egress,
    images: Images,
}

/// None where no image service is configured.
pub(crate) fn tool(settings: &Settings) -> Option<(Arc<dyn Tool>, Guards)> {
    let images = settings.images.clone()?;
    let (service, egress) = (settings.images_egress.clone(), settings.egress.clone());
    Some((Arc::new(ImageGen { spec: spec(flow(&images)), service, egress, images }), guards()))
}

impl Tool for ImageGen {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let Arguments { prompt, size } = request.parse()?;
            let (prompt, size) = (prompt.trim(), size.as_deref().map(str::trim));
            if prompt.is_empty() {
                return Err(declined_error("`prompt` is empty; say what is to be seen"));
            }
            if size.is_some_and(|size| !is_size(size)) {
                return Err(declined_error("`size` must be width and height in pixels, such as `1024x1024`"));
            }
            let answer = self.request_image(prompt, size).await?;
            Ok(self.read_answer(answer, prompt).await.unwrap_or_else(|problem| unusable_answer(&problem)))
        })
    }
}

impl ImageGen {
    /// The answer to an order that was taken, or why it could not be read.
    async fn request_image(
        &self,
        prompt: &str,
        size: Option<&str>,
    ) -> Result<Result<Vec<u8>, String>, ToolError> {
        let Images { base_url, model, has_key, response_format } = &self.images;
        let order = ImageRequest { model, prompt, n: 1, size, response_format: response_format.as_deref() };
        let address = format!("{}/images/generations", base_url.as_str().trim_end_matches('/'));
        let url =
            Url::parse(&address).map_err(|_| declined_error("the address of the image service is wrong"))?;
        let body =
            serde_json::to_vec(&order).map_err(|_| declined_error("the order cannot be written as JSON"))?;
        let mut request = Outgoing::new(Method::POST, url);
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.body = Some(body.into());
        request.credential = has_key.then(|| Credential::Bearer { secret: IMAGES_SECRET.into() });
        request.bounds = ANSWER;
        let answer = self.service.send(request).await.map_err(transport_error)?;
        let status = answer.status();
        let body = answer.read_bytes().await;
        if !status.is_success() {
            return Err(status_error(status, &body.unwrap_or_default()));
        }
        match body {
            Ok(body) => Ok(Ok(body)),
            Err(EgressError::TooLarge(problem)) => Ok(Err(problem)),
            Err(error) => Err(transport_error(error)),
        }
    }

    /// The image of an accepted request, or why it cannot be shown.
    async fn read_answer(&self, answer: Result<Vec<u8>, String>, prompt: &str) -> Result<ToolOutput, String> {
        let drawn: ImageAnswer =
            serde_json::from_slice(&answer?).map_err(|_| "the service's answer could not be read")?;
        let picture = drawn.data.into_iter().next().ok_or("the service answered without a picture")?;
        let bytes = self.load_bytes(&picture).await?;
        build_output(bytes, prompt, picture.revised_prompt)
    }

    /// The picture itself, fetched if only its address came.
    async fn load_bytes(&self, picture: &Picture) -> Result<Vec<u8>, String> {
        if let Some(text) = &picture.b64_json {
            return STANDARD.decode(text.trim()).map_err(|_| "the picture that came is broken".into());
        }
        let lost = |why: &str| format!("the picture could not be fetched: {why}");
        let url = picture.url.as_deref().and_then(|url| Url::parse(url).ok());
        let url = url.ok_or_else(|| lost("there is no address"))?;
        let request = Outgoing { redirects: 3, bounds: PICTURE, ..Outgoing::new(Method::GET, url) };
        let answer = self.egress.send(request).await.map_err(|error| lost(&error.to_string()))?;
        if !answer.status().is_success() {
            return Err(lost(&format!("status {}", answer.status().as_u16())));
        }
        answer.read_bytes().await.map_err(|error| lost(&error.to_string()))
    }
}

fn build_output(bytes: Vec<u8>, prompt: &str, revised: Option<String>) -> Result<ToolOutput, String> {
    let (media_type, ending) =
        detect_image_type(&bytes).ok_or("the service sent something that is no picture")?;
    let mut text =
        "The picture is drawn and the user sees it. Do not describe how to find it, and make no link."
            .to_owned();
    if let Some(revised) = &revised {
        text.push_str(&format!("\nThe service drew it from these words: {revised}"));
    }
    let title: String = prompt.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(80).collect();
    let data = json!({"media_type": media_type, "bytes": bytes.len(), "revised_prompt": revised});
    let file = OutputFile { name: format!("picture.{ending}"), media_type: media_type.into(), bytes };
    Ok(ToolOutput { files: vec![file], ..ToolOutput::text(text).with_title(title).with_data(data) })
}

/// What the bytes are, whatever was said of them.
fn detect_image_type(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some(("image/png", "png")),
        [0xff, 0xd8, 0xff, ..] => Some(("image/jpeg", "jpg")),
        [b'G', b'I', b'F', b'8', ..] => Some(("image/gif", "gif")),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(("image/webp", "webp")),
        _ => None,
    }
}

fn is_size(size: &str) -> bool {
    let is_number = |text: &str| (2..=4).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    size == "auto"
        || size.split_once('x').is_some_and(|(width, height)| is_number(width) && is_number(height))
}

fn declined_error(message: &str) -> ToolError {
    ToolError::Declined(message.into())
}

/// The request was accepted and is to be paid, whatever became of the picture: not a failure to try again.
fn unusable_answer(problem: &str) -> ToolOutput {
    ToolOutput::text(format!(
        "The picture was ordered and is paid for, but {problem}. It cannot be shown. Say so; do not call again for the same."
    ))
}

fn transport_error(error: EgressError) -> ToolError {
    match error {
        EgressError::Refused(why) => ToolError::Declined(why).with_notice(Notice::egress_refused()),
        EgressError::NotSent(_) => ToolError::NotSent("the image service cannot be reached".into()),
        EgressError::Lost(why) | EgressError::TooLarge(why) => {
            ToolError::Lost(format!("the image service gave no answer: {why}"))
                .with_notice(Notice::image_failed())
        }
    }
}

fn status_error(status: StatusCode, body: &[u8]) -> ToolError {
    let code = status.as_u16();
    let said = serde_json::from_slice::<Value>(body).ok();
    let said = said.as_ref().and_then(|body| body.pointer("/error/message")?.as_str());
    let said: String = said.unwrap_or_default().chars().take(REASON_CHARS_MAX).collect();
    let said = if said.is_empty() { said } else { format!(": {said}") };
    match code {
        401 | 403 => ToolError::Declined(format!(
            "the image service does not accept this server's key ({code}); operator: check `api_key_env` in [images]"
        ))
        .with_notice(Notice::image_key_refused(code.into())),
        429 => ToolError::Busy {
            message: format!("the image service is too busy ({code}){said}"),
            retry_after: None,
        },
        307 | 308 | 400..=407 | 409..=499 => {
            ToolError::Declined(format!("the image service refused the order ({code}){said}"))
                .with_notice(Notice::image_refused(code.into()))
        }
        // It may have drawn before it failed, and drawing is paid for.
        _ => ToolError::Lost(format!("the image service failed ({code}){said}")).with_notice(Notice::image_failed()),
    }
}

/// What is to be drawn leaves; what comes back is a picture, which no model reads.
fn flow(images: &Images) -> Flow {
    let place = place_of(&images.base_url);
    Flow { private: false, untrusted: false, outward: true, place }
}

fn spec(flow: Flow) -> ToolSpec {
    ToolSpec {
        title: Some("Draw a picture".into()),
        tags: vec!["images".into()],
        examples: examples(),
        on_unknown: OnUnknown::TellModel,
        flow,
        ..ToolSpec::new(
            "image_gen",
            include_str!("image_gen.md").trim(),
            schema_of::<Arguments>(),
            // Each picture costs money, and none is like another.
            Effect::NonIdempotent,
        )
    }
}

fn examples() -> Vec<Example> {
    let result =
        "The picture is drawn and the user sees it. Do not describe how to find it, and make no link.";
    vec![
        Example {
            question: "Draw me a lighthouse in a storm, like an old woodcut.".into(),
            arguments: json!({
                "prompt": "A lighthouse on a cliff in a storm at night, high waves, its beam through rain; old woodcut, \
                           black ink on cream paper",
                "size": "1024x1024"
            }),
            result: result.into(),
            answer: "Here is your lighthouse, as a woodcut.".into(),
        },
        Example {
            question: "画一只在窗台上晒太阳的橘猫，水彩风格。".into(),
            arguments: json!({"prompt": "一只橘猫趴在窗台上晒太阳，午后的光，水彩画，柔和的颜色"}),
            result: result.into(),
            answer: "画好了：窗台上晒太阳的橘猫，水彩风格。".into(),
        },
    ]
}

/// What a slow and paid service needs. Never sent twice by itself.
fn guards() -> Guards {
    Guards {
        timeout: Duration::from_secs(180),
        attempts: 1,
        limits: Limits {
            tool: Some(LimitSettings {
                concurrent: Some(4),
                per_window: Some(20),
                window: Duration::from_secs(60),
                wait: Duration::from_secs(30),
                ..LimitSettings::default()
            }),
            user: Some(LimitSettings { per_window: Some(5), ..LimitSettings::default() }),
        },
        breaker: Some(BreakerSettings::default()),
        ..Guards::default()
    }
}
