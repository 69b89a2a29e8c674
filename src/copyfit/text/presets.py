"""Named budgets of real platforms, each with its unit and where the number comes from."""

import difflib
from typing import Literal, NamedTuple

from copyfit.errors import RequestError


class Preset(NamedTuple):
    """A budget by name; `minimum` is given where too short a text is a fault as well."""

    name: str
    unit: str
    limit: int
    reference: str
    note: str
    mode: Literal["exact", "max", "range"] = "max"
    minimum: int | None = None


_ADS = (
    Preset(
        "google-ads-headline",
        "cell",
        30,
        "Google Ads Help, responsive search ads; woocommerce/google-listings-and-ads#3264",
        "A double-width character counts two, so a Japanese headline has 15.",
    ),
    Preset(
        "google-ads-description",
        "cell",
        90,
        "Google Ads Help, responsive search ads",
        "A double-width character counts two.",
    ),
    Preset(
        "google-ads-path",
        "cell",
        15,
        "Google Ads Help, responsive search ads",
        "One of the two path fields behind the domain.",
    ),
    Preset(
        "microsoft-ads-title",
        "cell",
        30,
        "Microsoft Advertising, Update to the maximum character limit check",
        "Single or double width is decided by the character, whatever the language of the campaign.",
    ),
    Preset(
        "meta-ads-headline",
        "char",
        40,
        "Meta Ads Guide; pipeboard-co/meta-ads-mcp#101",
        "A recommendation: longer headlines are accepted and cut on display.",
    ),
    Preset(
        "meta-ads-text",
        "char",
        125,
        "Meta Ads Guide; pipeboard-co/meta-ads-mcp#101",
        "A recommendation: longer texts are folded behind a link.",
    ),
)

_SEARCH_AND_NEWS = (
    Preset(
        "seo-title",
        "cell",
        60,
        "haydenbleasel/blume#187; sluggenius.com",
        "An approximation: search pages cut at about 600 pixels, for which 60 characters stand here "
        "(30 double-width ones).",
    ),
    Preset(
        "meta-description",
        "char",
        155,
        "contentful/apps#8813; dnsimple/dnsimple-support#1901",
        "An approximation of a limit in pixels; fewer than 120 characters are reported as too short.",
        mode="range",
        minimum=120,
    ),
    Preset(
        "schema-news-headline",
        "char",
        110,
        "schema.org NewsArticle headline; ahmedkaludi/schema-and-structured-data-for-wp#393",
        "Structured data of a news article.",
    ),
    Preset(
        "guardian-headline",
        "char",
        120,
        "guardian/facia-tool#1881",
        "A headline on a front page of The Guardian.",
    ),
    Preset(
        "guardian-breaking-news",
        "char",
        90,
        "guardian/facia-tool#1881",
        "A breaking-news alert of The Guardian.",
    ),
    Preset(
        "superdesk-headline",
        "char",
        42,
        "superdesk/superdesk-client-core#656",
        "A headline in the newsroom system of news agencies.",
    ),
    Preset(
        "cap-alert-headline",
        "char",
        160,
        "Common Alerting Protocol 1.2, headline; wmo-raf/cap-composer#139",
        "An emergency alert; some devices show no more than this.",
    ),
    Preset(
        "yahoo-japan-topics",
        "cell-cjk",
        31,
        "Yahoo! JAPAN News Topics; media-innovation.jp, 28 January 2022",
        "15.5 full-width characters; letters, digits and spaces count a half, so 31 half-width cells.",
    ),
    Preset(
        "jamul-10",
        "char",
        10,
        "JAMUL, Large-Scale Multi-Length Headline Corpus",
        "The short headline of the Japanese multi-length corpus, filled to the last character.",
        mode="exact",
    ),
    Preset(
        "jamul-13",
        "char",
        13,
        "JAMUL, Large-Scale Multi-Length Headline Corpus",
        "The middle headline of the Japanese multi-length corpus, filled to the last character.",
        mode="exact",
    ),
    Preset(
        "jamul-26",
        "char",
        26,
        "JAMUL, Large-Scale Multi-Length Headline Corpus",
        "The long headline of the Japanese multi-length corpus, filled to the last character.",
        mode="exact",
    ),
    Preset(
        "duc-2004",
        "byte",
        75,
        "DUC 2004, task 1; duc.nist.gov/duc2004",
        "Longer summaries are cut at 75 bytes and shorter ones gain nothing, so it is filled.",
        mode="exact",
    ),
)

_APPS_AND_MESSAGES = (
    Preset(
        "app-store-name",
        "char",
        30,
        "App Store Connect Help, app information; Automattic/pocket-casts-ios#4932",
        "A name that is too long makes the whole language drop out of an upload.",
    ),
    Preset(
        "app-store-subtitle",
        "char",
        30,
        "App Store Connect Help, app information; Automattic/simplenote-ios#1410",
        "The line below the name.",
    ),
    Preset(
        "google-play-title",
        "char",
        30,
        "Play Console Help, store listing; jellyfin/jellyfin-android#1955",
        "The name of an app in the store.",
    ),
    Preset(
        "google-play-short",
        "char",
        80,
        "Play Console Help, store listing; d4rken-org/permission-pilot#335",
        "The short description of an app.",
    ),
    Preset(
        "fdroid-summary",
        "char",
        80,
        "F-Droid documentation, all about descriptions; mardous/BoomingMusic#418",
        "Longer summaries are cut at exactly that character, even inside a word.",
    ),
    Preset(
        "push-title",
        "grapheme",
        40,
        "RocketChat/Rocket.Chat#37852; home-assistant/iOS#3103",
        "An approximation: devices show between 40 and 65 characters of a title.",
    ),
    Preset(
        "push-body",
        "grapheme",
        160,
        "RocketChat/Rocket.Chat#37852; home-assistant/iOS#3103",
        "An approximation: devices show between 160 and 240 characters of a body.",
    ),
    Preset(
        "sms",
        "gsm7",
        160,
        "3GPP TS 23.038; Altinn/altinn-studio-docs#2935",
        "One message: 160 septets, in which ^ { } \\ [ ] ~ | and € cost two, or 70 UCS-2 units.",
    ),
    Preset(
        "sms-unicode",
        "utf16",
        70,
        "3GPP TS 23.038; TwilioDevEd/message-segment-calculator#20",
        "One message in UCS-2, whatever its characters; an emoji costs two or more.",
    ),
    Preset(
        "x-post",
        "x",
        280,
        "X developer documentation, counting characters",
        "Characters up to U+10FF weigh one, most others and every emoji two; a URL counts as it is written.",
    ),
    Preset(
        "bluesky-post",
        "grapheme",
        300,
        "AT Protocol lexicon app.bsky.feed.post; bluesky-social/atproto#595",
        "The post must also keep to 3000 bytes, which this budget does not count.",
    ),
    Preset(
        "mastodon-display-name",
        "char",
        30,
        "mastodon/mastodon#34115; mastodon/mastodon#12316",
        "Counted in code points, so a composed emoji takes several.",
    ),
    Preset(
        "chat-title",
        "char",
        36,
        "Mng-dev-ai/agentrove#306; gty111/gLLM#282",
        "The title of a conversation in a side bar.",
    ),
)

_MEDIA_AND_TRADE = (
    Preset(
        "subtitle-line",
        "char",
        42,
        "Netflix Timed Text Style Guide; MaKTaiL/gemini-srt-translator#112",
        "One line of a subtitle in an alphabetic script.",
    ),
    Preset(
        "subtitle-line-japanese",
        "cell-cjk",
        26,
        "Netflix Timed Text Style Guide, Japanese; MaKTaiL/gemini-srt-translator#112",
        "13 full-width characters, the strict end of what is usual for Chinese, Japanese and Korean.",
    ),
    Preset(
        "ebay-title",
        "char",
        80,
        "eBay Trading API, Item.Title; YosefHayim/ebay-mcp#161",
        "The title of a listing.",
    ),
    Preset(
        "allegro-title",
        "char",
        75,
        "allegro/allegro-api#12975",
        "The marketplace also wants three words or more and none above 30 characters.",
        mode="range",
        minimum=12,
    ),
    Preset(
        "merchant-title",
        "char",
        150,
        "Google Merchant Center, product data specification; google-marketing-solutions/feedgen#55",
        "The title of a product in a shopping feed.",
    ),
    Preset(
        "git-subject",
        "char",
        50,
        "git-commit documentation, discussion; Nutlope/aicommits#246",
        "The usual first line of a commit message; tools cut it at 72.",
    ),
    Preset(
        "alt-text",
        "char",
        125,
        "TryGhost/Ghost#13421; w3c/w3c-website#302",
        "A custom more than a rule: some screen readers pause or cut there.",
    ),
)

PRESETS = _ADS + _SEARCH_AND_NEWS + _APPS_AND_MESSAGES + _MEDIA_AND_TRADE


def find_preset(name: str) -> Preset:
    """Return the preset of that name, or say which names are close."""
    presets = {preset.name: preset for preset in PRESETS}
    if name in presets:
        return presets[name]
    close = difflib.get_close_matches(name, presets, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"they are {', '.join(presets)}"
    raise RequestError(f"the preset must be one that exists, given {name!r}; {hint}")
