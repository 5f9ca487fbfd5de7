"""OpenAI-compatible servers, as the judge and the models ask them: addresses, requests, replies and failures."""
