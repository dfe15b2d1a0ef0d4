"""The intents' names for people, as every version's post-processing carries them."""

from __future__ import annotations

FALLBACK = "other"

LABELS = {
    "cancel_order": {"zh": "取消订单", "en": "Cancel an order"},
    "change_address": {"zh": "修改地址", "en": "Change the address"},
    "complaint": {"zh": "投诉", "en": "Complaint"},
    "coupon": {"zh": "优惠与积分", "en": "Coupons and points"},
    "delivery_late": {"zh": "配送延误", "en": "Late delivery"},
    "greeting": {"zh": "问候", "en": "Greeting"},
    "human_agent": {"zh": "转人工", "en": "Human agent"},
    "invoice": {"zh": "发票", "en": "Invoice"},
    "login_problem": {"zh": "登录问题", "en": "Login problem"},
    "order_status": {"zh": "订单查询", "en": "Order status"},
    "payment_failed": {"zh": "支付失败", "en": "Failed payment"},
    "product_question": {"zh": "商品咨询", "en": "Product question"},
    "refund": {"zh": "退货退款", "en": "Return and refund"},
    "warranty": {"zh": "保修维修", "en": "Warranty and repair"},
    FALLBACK: {"zh": "其他", "en": "Something else"},
}
