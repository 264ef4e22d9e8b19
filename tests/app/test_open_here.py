"""A place of Results is opened from another one, again and again."""

from tests.app.conftest import Lab, healthy


def test_an_answers_calls_are_opened_while_other_calls_are_shown(lab: Lab) -> None:
    """The filters are drawn then, and Streamlit lets nobody change them in the address."""
    app = healthy(lab("results", tab="Judgments", score="3", status="ok"))
    assert app.selectbox(key="score").value == "3"
    for _ in range(2):
        for button in app.button:
            if button.label == "All its orders":
                button.click()
        healthy(app.run())
        assert app.selectbox(key="score").value == "any"
        assert app.selectbox(key="status").value == "any"
        assert app.text_input(key="find").value
        assert app.session_state["tab"] == "Judgments"
